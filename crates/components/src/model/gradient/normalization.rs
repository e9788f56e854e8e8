//! Gradients of normalization operators.
//!
//! Batch normalization is differentiated in its inference form, with mean and variance as inputs. Layer
//! normalization computes them from the values (Ba, Kiros and Hinton, *Layer Normalization*, 2016).

use typeloom_onnx::messages::IntoAttribute as _;
use typeloom_types::shape::position;

use super::rules::Gradients;
use super::shapes::{float_of, int_of};
use super::{GradientError, NodeSite, Sweep};

impl Sweep<'_> {
    /// `1 / sqrt(variance + epsilon)`.
    fn inverse_deviation(&mut self, site: &NodeSite<'_>, variance: &str) -> String {
        let x = site.node.input[0].as_str();
        let epsilon = self.number_like(x, f64::from(float_of(site.node, "epsilon", 1e-5)));
        let values = [("variance", variance), ("epsilon", &epsilon)];
        self.formula(x, "Reciprocal(Sqrt(Add(variance, epsilon)))", &values)
    }

    pub(super) fn batch_normalization(
        &mut self,
        site: &NodeSite<'_>,
        d: &str,
    ) -> Result<Gradients, GradientError> {
        let node = site.node;
        let [x, scale, _, mean, variance] = &node.input[..] else {
            return Err(site.form("it does not have five inputs"));
        };
        if int_of(node, "training_mode", 0) != 0 {
            return Err(site.form("it is in training mode"));
        }
        let rank = i64::try_from(self.dims(site, x)?.len()).unwrap_or(0);
        let rest: Vec<i64> = (1..rank - 1).collect();
        let rest = self.tape.list(&rest);
        let by_channel = |sweep: &mut Self, list: &str| sweep.tape.op("Unsqueeze", &[list, &rest]);
        let others: Vec<i64> = [0].into_iter().chain(2..rank).collect();
        let others = self.tape.list(&others);
        let summed = |sweep: &mut Self, value: &str| {
            sweep.tape.op_with("ReduceSum", &[value, &others], vec![0_i64.into_attribute("keepdims")])
        };
        let inverse_deviation = self.inverse_deviation(site, variance);
        let factor = self.tape.op("Mul", &[scale, &inverse_deviation]);
        let mut gradients = Gradients::new();
        if self.wants(node, 0) {
            let factor = by_channel(self, &factor);
            gradients.push((0, self.tape.op("Mul", &[d, &factor])));
        }
        let total = summed(self, d);
        if self.wants(node, 1) || self.wants(node, 4) {
            let mean = by_channel(self, mean);
            let weighted = self.formula(x, "Mul(d, Sub(x, mean))", &[("d", d), ("x", x), ("mean", &mean)]);
            let weighted = summed(self, &weighted);
            let of_scale = self.tape.op("Mul", &[&weighted, &inverse_deviation]);
            if self.wants(node, 4) {
                // -1/2 scale (variance + epsilon)^(-3/2) sum(d (x - mean))
                let values = [
                    ("of_scale", &*of_scale),
                    ("inverse_deviation", &inverse_deviation),
                    ("factor", &factor),
                ];
                let formula = "Mul(Mul(Mul(of_scale, inverse_deviation), factor), -0.5)";
                gradients.push((4, self.formula(x, formula, &values)));
            }
            if self.wants(node, 1) {
                gradients.push((1, of_scale));
            }
        }
        if self.wants(node, 3) {
            let values = [("total", &*total), ("factor", &factor)];
            gradients.push((3, self.formula(x, "Neg(Mul(total, factor))", &values)));
        }
        if self.wants(node, 2) {
            gradients.push((2, total));
        }
        Ok(gradients)
    }

    pub(super) fn layer_normalization(
        &mut self,
        site: &NodeSite<'_>,
        d: &str,
    ) -> Result<Gradients, GradientError> {
        let node = site.node;
        let [x, scale, ..] = &node.input[..] else { return Err(site.form("it does not have two inputs")) };
        let wide = self.dims(site, x)?;
        let first = position(int_of(node, "axis", -1), wide.len()).unwrap_or(0);
        let axes: Vec<i64> = (first..wide.len()).map(|axis| axis as i64).collect();
        let mean = self.mean_along(x, &axes);
        let centred = self.tape.op("Sub", &[x, &mean]);
        let squared = self.tape.op("Mul", &[&centred, &centred]);
        let variance = self.mean_along(&squared, &axes);
        let inverse_deviation = self.inverse_deviation(site, &variance);
        let normal = self.tape.op("Mul", &[&centred, &inverse_deviation]);
        let mut gradients = Gradients::new();
        if self.wants(node, 0) {
            // (g - mean(g) - n mean(g n)) inverse_deviation, where g = d scale and n is the normalized input
            let g = self.tape.op("Mul", &[d, scale]);
            let share = self.mean_along(&g, &axes);
            let weighted = self.tape.op("Mul", &[&g, &normal]);
            let weighted = self.mean_along(&weighted, &axes);
            let formula = "Mul(Sub(Sub(g, share), Mul(normal, weighted)), inverse_deviation)";
            let values = [
                ("g", &*g),
                ("share", &share),
                ("normal", &normal),
                ("weighted", &weighted),
                ("inverse_deviation", &inverse_deviation),
            ];
            gradients.push((0, self.formula(x, formula, &values)));
        }
        if self.wants(node, 1) {
            let weighted = self.tape.op("Mul", &[d, &normal]);
            let own = self.dims(site, scale)?;
            gradients.push((1, self.sum_to(site, weighted, &wide, &own)?));
        }
        if self.wants(node, 2) {
            let own = self.dims(site, &node.input[2])?;
            gradients.push((2, self.sum_to(site, d.to_owned(), &wide, &own)?));
        }
        Ok(gradients)
    }
}
