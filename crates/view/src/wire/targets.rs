//! The column of targets: their verdicts, and the places of nodes.

use super::Error;
use super::bytes::{Reader, Writer};
use crate::scene::{Assignment, MarkId, NodeId, PlacedNode, Scene, Target, Verdict};

/// Writes the targets of a scene; nothing if there are none.
pub(super) fn write(scene: &Scene, out: &mut Writer) {
    if scene.targets.is_empty() {
        return;
    }
    out.count(scene.targets.len());
    for target in &scene.targets {
        let Target { name, verdict, is_measured, places, crossing, conditions, fixed, marks } = target;
        out.text(name);
        let verdict = match verdict {
            Verdict::Runs => 0,
            Verdict::RunsWithFallback => 1,
            Verdict::Rejected => 2,
            Verdict::Undecided => 3,
        };
        out.byte(verdict | u8::from(*is_measured) << 2 | u8::from(crossing.is_some()) << 3);
        crossing.iter().for_each(|text| out.text(text));
        for texts in [conditions, fixed] {
            out.count(texts.len());
            texts.iter().for_each(|text| out.text(text));
        }
        out.count(places.len());
        let mut next = 0;
        for PlacedNode { node, place, partition } in places {
            out.count(node.index() - next);
            next = node.index() + 1;
            let place = match place {
                Assignment::Device => 0,
                Assignment::Cpu => 1,
                Assignment::Unknown => 2,
                Assignment::Nowhere => 3,
            };
            out.byte(place | u8::from(partition.is_some()) << 2);
            partition.iter().for_each(|number| out.number((*number).into()));
        }
        out.count(marks.len());
        next = 0;
        for mark in marks {
            out.count(mark.index() - next);
            next = mark.index() + 1;
        }
    }
}

/// Reads the targets of a scene that has its nodes and marks.
pub(super) fn read(scene: &mut Scene, input: &mut Reader<'_>) -> Result<(), Error> {
    if input.length() == 0 {
        return Ok(());
    }
    for _ in 0..input.count()? {
        let name = input.text()?.to_owned();
        let code = input.byte()?;
        let verdict = match code & 3 {
            0 => Verdict::Runs,
            1 => Verdict::RunsWithFallback,
            2 => Verdict::Rejected,
            _ => Verdict::Undecided,
        };
        if code >> 4 != 0 {
            return Err(input.invalid("the verdict of a target is unknown"));
        }
        let is_measured = code & 4 != 0;
        let crossing = if code & 8 == 0 { None } else { Some(input.text()?.to_owned()) };
        let mut texts = [Vec::new(), Vec::new()];
        for list in &mut texts {
            for _ in 0..input.count()? {
                list.push(input.text()?.to_owned());
            }
        }
        let [conditions, fixed] = texts;
        let (mut places, mut marks) = (Vec::new(), Vec::new());
        let mut next = 0;
        for _ in 0..input.count()? {
            let at = following(input, next, scene.nodes.len())?;
            next = at + 1;
            let code = input.byte()?;
            let place = match code & 3 {
                0 => Assignment::Device,
                1 => Assignment::Cpu,
                2 => Assignment::Unknown,
                _ => Assignment::Nowhere,
            };
            if code >> 3 != 0 {
                return Err(input.invalid("the place of a node is unknown"));
            }
            // A partition has a node.
            let partition =
                if code & 4 == 0 { None } else { Some(input.position(scene.nodes.len())? as u32) };
            places.push(PlacedNode { node: NodeId::new(at), place, partition });
        }
        next = 0;
        for _ in 0..input.count()? {
            let at = following(input, next, scene.marks.len())?;
            next = at + 1;
            marks.push(MarkId::new(at));
        }
        scene.targets.push(Target { name, verdict, is_measured, places, crossing, conditions, fixed, marks });
    }
    Ok(())
}

/// The next of some increasing positions, from `next` on.
fn following(input: &mut Reader<'_>, next: usize, length: usize) -> Result<usize, Error> {
    Ok(next + input.position(length.saturating_sub(next))?)
}
