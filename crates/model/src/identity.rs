//! Who may act: people, service accounts, their roles, and how wide a token reaches.

text_enum! {
    /// A person or a program.
    PrincipalKind {
        /// A person, named by e-mail address.
        User = "user",
        /// A program that belongs to a tenant.
        ServiceAccount = "service_account",
    }
}

text_enum! {
    /// The five roles. The first two are platform-wide, the others hold in one tenant or project.
    Role {
        /// Runs the platform: everything.
        PlatformOperator = "platform_operator",
        /// Sees everything, changes nothing.
        OperatorReadOnly = "operator_read_only",
        /// Runs one tenant: its projects, members, tokens.
        TenantAdmin = "tenant_admin",
        /// Works in one project: launches and releases.
        ProjectMember = "project_member",
        /// Sees one tenant or project, changes nothing.
        Viewer = "viewer",
    }
}

text_enum! {
    /// A role over the whole platform.
    PlatformRole {
        /// Runs the platform: everything.
        PlatformOperator = "platform_operator",
        /// Sees everything, changes nothing.
        OperatorReadOnly = "operator_read_only",
    }
}

text_enum! {
    /// A role inside a tenant.
    MemberRole {
        /// Runs one tenant: its projects, members, tokens.
        TenantAdmin = "tenant_admin",
        /// Works in one project: launches and releases.
        ProjectMember = "project_member",
        /// Sees one tenant or project, changes nothing.
        Viewer = "viewer",
    }
}

text_enum! {
    /// How far a token may be used, whatever its owner may do.
    TokenScope {
        /// Only requests that change nothing.
        Read = "read",
        /// Everything its owner may do.
        Write = "write",
    }
}
