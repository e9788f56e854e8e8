//! Traversals of terms: inspection, replacement, normal forms.
//!
//! ```
//! use typeloom::term::traverse::{normal_form, replace_params};
//! use typeloom::term::{Boxed, Scope, Symbols, parse_ty, print};
//!
//! let (cx, mut symbols) = (Boxed::new(), Symbols::new());
//! let scope = Scope::new().types(["T"]);
//! let mut parse = |text| parse_ty(&cx, &mut symbols, &scope, text);
//! let (generic, byte) = (parse("dyn B<T> + A + A")?, parse("u8")?);
//! let special = replace_params(&cx, &generic, |_| Some(byte.clone().into()))?;
//! assert_eq!(normal_form(&cx, &special)?, normal_form(&cx, &parse("dyn A + B<u8>")?)?);
//! # assert_eq!(print(&byte, &symbols), "u8");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Folders rebuild terms. The default methods visit every part.
///
/// ```
/// use typeloom::term::build::TermError;
/// use typeloom::term::family::Meta;
/// use typeloom::term::traverse::{Fold, FoldState, Folder, super_fold_ty};
/// use typeloom::term::{Boxed, Name, Scope, Symbols, Ty, TyData, parse_ty, print};
///
/// /// Replaces `bool` by `char`.
/// struct Replace(Boxed, FoldState<Boxed>);
///
/// impl Folder<Boxed> for Replace {
///     type Error = TermError;
///     fn cx(&self) -> &Boxed {
///         &self.0
///     }
///     fn state(&mut self) -> &mut FoldState<Boxed> {
///         &mut self.1
///     }
///     fn skip(&self, _: Meta) -> bool {
///         false
///     }
///     fn fold_ty(&mut self, ty: &Ty) -> Result<Ty, TermError> {
///         match ty.data() {
///             TyData::Apply(of) if of.name == Name::Bool => Ty::apply(&self.0, Name::Char, &[]),
///             _ => super_fold_ty(ty, self),
///         }
///     }
/// }
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let ty = parse_ty(&cx, &mut symbols, &Scope::new(), "(bool, [bool; 2])")?;
/// let folded = ty.try_fold_with(&mut Replace(cx, FoldState::default()))?;
/// assert_eq!(print(&folded, &symbols), "(char, [char; 2])");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::Folder;
/// Visitors inspect terms and can stop early.
///
/// ```
/// use std::ops::ControlFlow;
/// use typeloom::term::build::VarKind;
/// use typeloom::term::family::Meta;
/// use typeloom::term::traverse::{Leaf, Visit, VisitState, Visitor};
/// use typeloom::term::{Boxed, Name, Scope, Symbols, parse_ty};
///
/// /// Stops at the first parameter.
/// struct FindParameter(VisitState);
///
/// impl Visitor<Boxed> for FindParameter {
///     type Break = VarKind;
///     fn state(&mut self) -> &mut VisitState {
///         &mut self.0
///     }
///     fn skip(&self, _: Meta) -> bool {
///         false
///     }
///     fn visit_leaf(&mut self, kind: VarKind, leaf: Leaf<Name>) -> ControlFlow<VarKind> {
///         if matches!(leaf, Leaf::Placeholder(_)) { ControlFlow::Break(kind) } else { ControlFlow::Continue(()) }
///     }
/// }
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let ty = parse_ty(&cx, &mut symbols, &Scope::new().types(["T"]), "Vec<(u8, T)>")?;
/// assert_eq!(ty.visit_with(&mut FindParameter(VisitState::default())), ControlFlow::Break(VarKind::Ty));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::Visitor;
/// [`convert_ty`] has an example.
#[doc(inline)]
pub use typeloom_term::convert::Converter;
/// Conversion of terms to another family.
///
/// ```
/// use typeloom::term::build::{Arena, Interned};
/// use typeloom::term::traverse::{Converter, convert_ty};
/// use typeloom::term::{Boxed, Name, Ty};
///
/// let bool: Ty = Ty::apply(&Boxed::new(), Name::Bool, &[])?;
/// let arena = Arena::new();
/// let cx = Interned::new(&arena);
/// let interned = convert_ty(&cx, &bool)?;
/// assert_eq!(interned, Ty::apply(&cx, Name::Bool, &[])?);
/// // With other names.
/// let other = Converter::new(&cx, |_| Name::Char).ty(&bool)?;
/// assert_eq!(other, Ty::apply(&cx, Name::Char, &[])?);
/// # Ok::<(), typeloom::term::build::TermError>(())
/// ```
#[doc(inline)]
pub use typeloom_term::convert::convert_ty;
/// [`Folder`] has an example.
#[doc(inline)]
pub use typeloom_term::fold::{Fold, FoldState, super_fold_const, super_fold_ty};
/// [`Visitor`] has an example.
#[doc(inline)]
pub use typeloom_term::leaf::Leaf;
/// The module has an example.
#[doc(inline)]
pub use typeloom_term::normal::normal_form;
/// Variables of binders: replacement of those of the innermost binder, and shifts under other binders.
///
/// ```
/// use typeloom::term::build::BoundVar;
/// use typeloom::term::traverse::{Instantiation, instantiate, shift_in, shift_out};
/// use typeloom::term::{Boxed, Name, Ty, TyData};
///
/// let cx = Boxed::new();
/// let bool: Ty = Ty::apply(&cx, Name::Bool, &[])?;
/// let variable = Ty::new(&cx, TyData::BoundVariable(BoundVar::innermost(0)))?;
/// let body = Ty::pair(&cx, Name::Tuple, variable.clone(), bool.clone())?;
/// let with = Instantiation { types: vec![bool.clone()], ..Instantiation::default() };
/// assert_eq!(instantiate(&cx, &body, &with)?, Ty::pair(&cx, Name::Tuple, bool.clone(), bool)?);
/// assert_eq!(shift_out(&cx, &shift_in(&cx, &variable, 2)?, 2)?, variable);
/// # Ok::<(), typeloom::term::build::TermError>(())
/// ```
#[doc(inline)]
pub use typeloom_term::subst::Instantiation;
/// The module has an example.
#[doc(inline)]
pub use typeloom_term::subst::replace_params;
/// [`Instantiation`] has an example.
#[doc(inline)]
pub use typeloom_term::subst::{instantiate, shift_in, shift_out};
/// [`Visitor`] has an example.
#[doc(inline)]
pub use typeloom_term::visit::{Visit, VisitState, super_visit_const, super_visit_ty};
