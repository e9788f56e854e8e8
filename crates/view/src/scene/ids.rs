//! Ids of the parts of a scene.

use typeloom_solver::table_id as id;

id!(
    /// A node of a scene.
    NodeId
);
id!(
    /// A value of a scene.
    ValueId
);
id!(
    /// A group of a scene.
    GroupId
);
id!(
    /// An operator of a scene.
    OperatorId
);
id!(
    /// A type of a scene.
    TypeId
);
id!(
    /// An extent of a scene.
    ExtentId
);
id!(
    /// The elements of a small tensor of a scene.
    PreviewId
);
id!(
    /// A diagnostic of a scene.
    MarkId
);
id!(
    /// The name of a rule of a scene.
    RuleId
);
