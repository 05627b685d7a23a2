// Generated from docs/reference/openapi.json by `npm run types`. Do not edit.

export interface paths {
    "/api/v1": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say what this server speaks.
         * @description Needs the right `self_read`.
         */
        get: operations["api_index"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/allocations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List allocations of all projects, by tenant and state.
         * @description Needs the right `platform_read`.
         */
        get: operations["allocation_survey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/allocations/{allocation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an allocation with its node, claims, slots, orders and the decision about its place.
         * @description Needs the right `platform_read`.
         */
        get: operations["allocation_inspect"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/allocations/{allocation_id}/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the decisions about an allocation, with hardware.
         * @description Needs the right `platform_read`.
         */
        get: operations["placed_decision_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/allocations/{allocation_id}/force-release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release an allocation without waiting for its host: its claims end, and its slots stay out of sale until they are proved clean.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["allocation_force_release"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/claims/backfill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give allocations that hold capacity without a claim the claims they should have.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["claim_backfill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cluster-queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List cluster queues.
         * @description Needs the right `platform_read`.
         */
        get: operations["cluster_queue_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cluster-queues/{cluster_queue}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a cluster queue.
         * @description Needs the right `platform_read`.
         */
        get: operations["cluster_queue_show"];
        /**
         * Make a cluster queue, or change it.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["cluster_queue_put"];
        post?: never;
        /**
         * Delete a cluster queue that no local queue leads to.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["cluster_queue_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cohorts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List cohorts.
         * @description Needs the right `platform_read`.
         */
        get: operations["cohort_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/cohorts/{cohort}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a cohort.
         * @description Needs the right `platform_read`.
         */
        get: operations["cohort_show"];
        /**
         * Make a cohort, or change it.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["cohort_put"];
        post?: never;
        /**
         * Delete a cohort that has no members.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["cohort_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/enrollment-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List enrollment tokens, used ones too.
         * @description Needs the right `platform_read`.
         */
        get: operations["enrollment_token_list"];
        put?: never;
        /**
         * Create a one-time token that brings one host in.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["enrollment_token_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/enrollment-tokens/{enrollment_token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an enrollment token, without its secret.
         * @description Needs the right `platform_read`.
         */
        get: operations["enrollment_token_show"];
        put?: never;
        post?: never;
        /**
         * Take an unused enrollment token back.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["enrollment_token_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/governance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show all objects of governance as one document.
         * @description Needs the right `platform_read`.
         */
        get: operations["governance_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/governance/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply a document: all of it or nothing, in one transaction.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["governance_apply"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/governance/simulate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show what a change of the objects would do to everything that waits and runs now. Nothing is changed.
         * @description Needs the right `platform_read`.
         */
        post: operations["governance_simulate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/governance/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how much of their quota queues and cohorts use, and how many wait.
         * @description Needs the right `platform_read`.
         */
        get: operations["queue_use"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/machines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the machines of all providers as they were last seen, with what does not agree with the platform.
         * @description Needs the right `platform_read`.
         */
        get: operations["machine_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/machines/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look at all machines of all providers again, soon.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["machine_sync"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List nodes.
         * @description Needs the right `platform_read`.
         */
        get: operations["node_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a node.
         * @description Needs the right `platform_read`.
         */
        get: operations["node_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Say what a node is meant for.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["node_update"];
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/claims": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the claims on a node, ended ones too.
         * @description Needs the right `platform_read`.
         */
        get: operations["claim_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/convert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn a node from slices to bare metal, or back: it takes nothing new, its tenants leave, every slot is proved clean, and then it is that.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_convert"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/demote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take slice use back; what runs goes on.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_demote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a node out of use. Nothing may run on it.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/disk-grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List disks that may be destroyed although something was found on them.
         * @description Needs the right `platform_read`.
         */
        get: operations["disk_grant_list"];
        put?: never;
        /**
         * Say that a disk may be destroyed although something was found on it.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["disk_grant_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/disk-grants/{nvme_identity}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take a grant back.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["disk_grant_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Place nothing new on a node; what runs goes on until it is released.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_drain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/evacuate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain a node, and launch elsewhere what its owners allow to be moved.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_evacuate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what a node's agent did that an honest one does not.
         * @description Needs the right `platform_read`.
         */
        get: operations["incident_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what the newest plan of a node says.
         * @description Needs the right `platform_read`.
         */
        get: operations["plan_show"];
        put?: never;
        /**
         * Order a node to say what a guest on some of its slots would get. Nothing is made.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/prefetch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Order a node to fetch an image before it is needed.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_prefetch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Promote a node to slice use. Needs the profile, readiness evidence, and approved slots.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_promote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show whether a node is ready for slices, and what is missing.
         * @description Needs the right `platform_read`.
         */
        get: operations["readiness_show"];
        put?: never;
        /**
         * Order a node to say whether it is ready for slices.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["readiness_order"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/reconcile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what the newest comparison of a node with its claims found.
         * @description Needs the right `platform_read`.
         */
        get: operations["reconcile_show"];
        put?: never;
        /**
         * Order a node to compare itself with its claims, and to repair, report or leave alone what is not as it should be.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_reconcile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/repair": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look again at everything on a node that waits for an operator: orders are given again, drift and readiness are looked at anew.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_repair"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/resource-slots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a node's slots.
         * @description Needs the right `platform_read`.
         */
        get: operations["slot_list"];
        put?: never;
        /**
         * Approve one slot on a node.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["slot_approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/resource-slots/approve-complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve every candidate that is complete and that no rule refuses.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["slot_approve_complete"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/revoke-identity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a node's identity: its agent is refused until the host is enrolled again.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_revoke_identity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/slice-topology/discovery": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what the newest discovery found, beside what is approved.
         * @description Needs the right `platform_read`.
         */
        get: operations["discovery_show"];
        put?: never;
        /**
         * Order a node to say what it has.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_discover"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the orders to a node's agent.
         * @description Needs the right `platform_read`.
         */
        get: operations["task_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/nodes/{node_id}/undrain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a drained or disabled node back into service.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["node_undrain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/occupancy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show how full every pool is.
         * @description Needs the right `platform_read`.
         */
        get: operations["occupancy_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/operators": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the platform's operators.
         * @description Needs the right `platform_read`.
         */
        get: operations["operator_list"];
        put?: never;
        /**
         * Make somebody an operator.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["operator_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/operators/{principal_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take an operator's platform role away.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["operator_remove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the providers of machines.
         * @description Needs the right `platform_read`.
         */
        get: operations["provider_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the slots of the whole fleet, by pool and state.
         * @description Needs the right `platform_read`.
         */
        get: operations["slot_survey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots/{slot_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a slot with what has drifted.
         * @description Needs the right `platform_read`.
         */
        get: operations["slot_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots/{slot_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change an approved slot that nobody uses: every field is given anew, and every rule applies.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["slot_reapprove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots/{slot_id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a slot that nobody uses out of sale.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["slot_disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots/{slot_id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a disabled slot back on sale, if every rule still lets it through.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["slot_enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots/{slot_id}/override": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask that a blocked slot goes on without a proof of its wipe. Another operator has to agree.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["wipe_override_request"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots/{slot_id}/proof": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the newest wipe proof of a slot, or the newest of one use: every step, its evidence, and what each check says now.
         * @description Needs the right `platform_read`.
         */
        get: operations["proof_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots/{slot_id}/proofs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List every wipe proof of a slot that came in, refused ones too.
         * @description Needs the right `platform_read`.
         */
        get: operations["proof_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/resource-slots/{slot_id}/repair": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Wipe a slot once more whose cleanup waits for an operator.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["slot_repair"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show who leads and how far the records have come.
         * @description Needs the right `platform_read`.
         */
        get: operations["platform_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/topologies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List topologies.
         * @description Needs the right `platform_read`.
         */
        get: operations["topology_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/topologies/{topology}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a topology.
         * @description Needs the right `platform_read`.
         */
        get: operations["topology_show"];
        /**
         * Make a topology, or change it.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["topology_put"];
        post?: never;
        /**
         * Delete a topology that no flavor has.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["topology_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/waits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what waits, most overdue first.
         * @description Needs the right `platform_read`.
         */
        get: operations["wait_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the platform's own webhooks.
         * @description Needs the right `platform_read`.
         */
        get: operations["platform_webhook_list"];
        put?: never;
        /**
         * Have every event of the platform sent to an address. The secret that signs them is shown this once.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["platform_webhook_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/wipe-overrides": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List overrides, decided ones too.
         * @description Needs the right `platform_read`.
         */
        get: operations["wipe_override_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/wipe-overrides/{override_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an override.
         * @description Needs the right `platform_read`.
         */
        get: operations["wipe_override_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/wipe-overrides/{override_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Agree to an override that somebody else asked for. The slot is available from then on.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["wipe_override_approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/wipe-overrides/{override_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refuse an override that somebody else asked for. The slot stays blocked.
         * @description Needs the right `fleet_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["wipe_override_reject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workloads of all projects, by queue and state.
         * @description Needs the right `platform_read`.
         */
        get: operations["workload_survey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/workloads/{workload_id}/gate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep a workload from being admitted, or let it go on.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["workload_gate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an allocation.
         * @description Needs the right `project_read`.
         */
        get: operations["allocation_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Rename or label an allocation, or say whether it may be launched again elsewhere.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["allocation_update"];
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/console": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Open a stream to the serial console of an allocation's guest. What it prints is recorded.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        get: operations["allocation_console"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the decisions about an allocation, without hardware.
         * @description Needs the right `project_read`.
         */
        get: operations["decision_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/extend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move the end of an allocation's lease to a later moment.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["allocation_extend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/proofs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show whether what an allocation had was wiped, and how that was proved.
         * @description Needs the right `project_read`.
         */
        get: operations["allocation_proofs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release an allocation: stop it, wipe it, give it back.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["allocation_release"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/ssh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Open a stream to the SSH server of an allocation's guest.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        get: operations["allocation_ssh"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/streams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the streams to an allocation's guest, ended ones too.
         * @description Needs the right `project_read`.
         */
        get: operations["stream_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what happened to an allocation, step by step.
         * @description Needs the right `project_read`.
         */
        get: operations["timeline_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/timeline/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow what happens to an allocation live, as server-sent events. Ends after the last entry.
         * @description Needs the right `project_read`.
         */
        get: operations["timeline_stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/user-data": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show what was written for cloud-init, to those who may use the project.
         * @description Needs the right `project_use`.
         */
        get: operations["user_data_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List audited actions the caller may see, by who, what, on what and when.
         * @description Needs the right `self_read`.
         */
        get: operations["audit_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/availability": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What can be had now, by region and GPU model.
         * @description Needs the right `catalog_read`.
         */
        get: operations["availability_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events after a position, of everything or of one thing.
         * @description Needs the right `self_read`.
         */
        get: operations["event_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow events live, as server-sent events.
         * @description Needs the right `self_read`.
         */
        get: operations["event_stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/flavors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List flavors.
         * @description Needs the right `catalog_read`.
         */
        get: operations["flavor_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/flavors/{flavor}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a flavor.
         * @description Needs the right `catalog_read`.
         */
        get: operations["flavor_show"];
        /**
         * Make a flavor, or change it.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["flavor_put"];
        post?: never;
        /**
         * Delete a flavor in which there is no quota.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["flavor_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hardware-profiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List hardware profiles.
         * @description Needs the right `catalog_read`.
         */
        get: operations["hardware_profile_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hardware-profiles/{hardware_profile}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a hardware profile.
         * @description Needs the right `catalog_read`.
         */
        get: operations["hardware_profile_show"];
        /**
         * Make a hardware profile, or change it.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["hardware_profile_put"];
        post?: never;
        /**
         * Delete a hardware profile.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["hardware_profile_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/image-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys that may sign images, revoked ones too.
         * @description Needs the right `platform_read`.
         */
        get: operations["image_key_list"];
        put?: never;
        /**
         * Trust a key that signs images.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["image_key_add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/image-keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a key that may sign images.
         * @description Needs the right `platform_read`.
         */
        get: operations["image_key_show"];
        put?: never;
        post?: never;
        /**
         * Trust a key no more. Images that it signed stay as they are; retire those that are in doubt.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["image_key_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/images": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List images. Whoever does not run the platform sees those that can be launched.
         * @description Needs the right `catalog_read`.
         */
        get: operations["image_list"];
        put?: never;
        /**
         * Register an image: its signed entry. Its bytes come next.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["image_register"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/images/{image_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an image.
         * @description Needs the right `catalog_read`.
         */
        get: operations["image_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Say whether an image is what is launched when nobody names one.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["image_update"];
        trace?: never;
    };
    "/api/v1/images/{image_id}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Bring the bytes of a registered image, as they are. They are kept only if they are what the entry says.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["image_upload"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/images/{image_id}/retire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Launch an image no more. What runs from it goes on.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["image_retire"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/ingresses/{ingress_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a way in.
         * @description Needs the right `project_read`.
         */
        get: operations["ingress_show"];
        put?: never;
        post?: never;
        /**
         * Give a way in back.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["ingress_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/members/{member_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a membership.
         * @description Needs the right `tenant_read`.
         */
        get: operations["member_show"];
        put?: never;
        post?: never;
        /**
         * End a membership.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["member_remove"];
        options?: never;
        head?: never;
        /**
         * Change a member's role.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["member_update"];
        trace?: never;
    };
    "/api/v1/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the operations the caller may see.
         * @description Needs the right `self_read`.
         */
        get: operations["operation_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/operations/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an operation.
         * @description Needs the right `self_read`.
         */
        get: operations["operation_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pools.
         * @description Needs the right `catalog_read`.
         */
        get: operations["pool_list"];
        put?: never;
        /**
         * Create a pool.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["pool_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pools/{pool_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a pool.
         * @description Needs the right `catalog_read`.
         */
        get: operations["pool_show"];
        put?: never;
        post?: never;
        /**
         * Delete a pool that has no nodes.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["pool_delete"];
        options?: never;
        head?: never;
        /**
         * Rename a pool or switch slices on or off.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["pool_update"];
        trace?: never;
    };
    "/api/v1/priority-classes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List priority classes.
         * @description Needs the right `catalog_read`.
         */
        get: operations["priority_class_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/priority-classes/{priority_class}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a priority class.
         * @description Needs the right `catalog_read`.
         */
        get: operations["priority_class_show"];
        /**
         * Make a priority class, or change it.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["priority_class_put"];
        post?: never;
        /**
         * Delete a priority class that no hardware profile has.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["priority_class_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a project.
         * @description Needs the right `project_read`.
         */
        get: operations["project_show"];
        put?: never;
        post?: never;
        /**
         * Delete a project and everything in it, with proof that nothing is left.
         * @description Needs the right `project_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["project_delete"];
        options?: never;
        head?: never;
        /**
         * Change a project's name or cap.
         * @description Needs the right `project_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["project_update"];
        trace?: never;
    };
    "/api/v1/projects/{project_id}/allocations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's allocations.
         * @description Needs the right `project_read`.
         */
        get: operations["allocation_list"];
        put?: never;
        /**
         * Launch: ask for GPUs.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["allocation_launch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/allocations/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show what a launch would do, what it would cost, and whether it would fit elsewhere. Nothing is changed or reserved.
         * @description Needs the right `project_read`.
         */
        post: operations["allocation_plan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/ingresses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's ways in.
         * @description Needs the right `project_read`.
         */
        get: operations["ingress_list"];
        put?: never;
        /**
         * Ask for a way in to a guest.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["ingress_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's local queues.
         * @description Needs the right `project_read`.
         */
        get: operations["local_queue_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/queues/{local_queue}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a local queue.
         * @description Needs the right `project_read`.
         */
        get: operations["local_queue_show"];
        /**
         * Make a local queue, or change it.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["local_queue_put"];
        post?: never;
        /**
         * Delete a local queue in which there is no work.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["local_queue_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the suspension of a project.
         * @description Needs the right `project_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["project_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/ssh-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's public keys.
         * @description Needs the right `project_read`.
         */
        get: operations["ssh_key_list"];
        put?: never;
        /**
         * Add a public key to a project.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["ssh_key_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suspend a project: what runs goes on, nothing new starts.
         * @description Needs the right `project_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["project_suspend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what a project held, claim by claim.
         * @description Needs the right `project_read`.
         */
        get: operations["usage_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/workloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a project's workloads.
         * @description Needs the right `project_read`.
         */
        get: operations["workload_list"];
        put?: never;
        /**
         * Submit members that start together or not at all.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["workload_submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/regions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List regions, disabled ones too.
         * @description Needs the right `catalog_read`.
         */
        get: operations["region_list"];
        put?: never;
        /**
         * Create a region.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["region_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/regions/{region_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a region.
         * @description Needs the right `catalog_read`.
         */
        get: operations["region_show"];
        put?: never;
        post?: never;
        /**
         * Delete a region that nothing refers to.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["region_delete"];
        options?: never;
        head?: never;
        /**
         * Rename, enable or disable a region.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["region_update"];
        trace?: never;
    };
    "/api/v1/regions/{region_id}/ingress-settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show who owns ways in to a region, and what may be used.
         * @description Needs the right `platform_read`.
         */
        get: operations["ingress_settings_show"];
        /**
         * Say who owns ways in to a region, and what may be used. What is in use already must stay inside.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["ingress_settings_set"];
        post?: never;
        /**
         * Take that back. There must be no way in left.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["ingress_settings_clear"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/service-accounts/{principal_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a service account.
         * @description Needs the right `tenant_read`.
         */
        get: operations["service_account_show"];
        put?: never;
        post?: never;
        /**
         * Remove a service account, its memberships and its tokens.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["service_account_remove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the session of the request's cookie.
         * @description Needs the right `self_read`.
         */
        get: operations["session_show"];
        put?: never;
        /**
         * Sign in with a token; the session comes as a cookie.
         * @description For everybody, without a token.
         */
        post: operations["session_create"];
        /**
         * Sign out: end the session of the request's cookie.
         * @description Needs the right `self_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["session_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/oidc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to sign in through the identity provider.
         * @description For everybody, without a token.
         */
        post: operations["session_oidc_start"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say how people can sign in here.
         * @description For everybody, without a token.
         */
        get: operations["sign_in_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/skus": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List SKUs.
         * @description Needs the right `catalog_read`.
         */
        get: operations["sku_list"];
        put?: never;
        /**
         * Create a SKU.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["sku_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/skus/{sku_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a SKU.
         * @description Needs the right `catalog_read`.
         */
        get: operations["sku_show"];
        put?: never;
        post?: never;
        /**
         * Delete a SKU that was never launched.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["sku_delete"];
        options?: never;
        head?: never;
        /**
         * Change a SKU's name, price or availability.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["sku_update"];
        trace?: never;
    };
    "/api/v1/slot-profiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List slot profiles, by short name.
         * @description Needs the right `catalog_read`.
         */
        get: operations["slot_profile_list"];
        put?: never;
        /**
         * Create a slot profile.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["slot_profile_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/slot-profiles/{profile}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a slot profile.
         * @description Needs the right `catalog_read`.
         */
        get: operations["slot_profile_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change what slots of a profile are made of.
         * @description Needs the right `catalog_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["slot_profile_update"];
        trace?: never;
    };
    "/api/v1/ssh-keys/{ssh_key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a public key.
         * @description Needs the right `project_read`.
         */
        get: operations["ssh_key_show"];
        put?: never;
        post?: never;
        /**
         * Remove a public key. What was launched with it keeps it.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["ssh_key_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{stream_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a stream.
         * @description Needs the right `project_read`.
         */
        get: operations["stream_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{stream_id}/recording": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download what a console printed. For those who may use the project, and those who may read its audit trail.
         * @description Needs the right `project_read`.
         */
        get: operations["stream_recording"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tenants the caller may see.
         * @description Needs the right `self_read`.
         */
        get: operations["tenant_list"];
        put?: never;
        /**
         * Create a tenant.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["tenant_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a tenant.
         * @description Needs the right `tenant_read`.
         */
        get: operations["tenant_show"];
        put?: never;
        post?: never;
        /**
         * Delete a tenant and everything in it, with proof that nothing is left.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["tenant_delete"];
        options?: never;
        head?: never;
        /**
         * Rename a tenant.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["tenant_update"];
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the memberships of a tenant that the caller may see.
         * @description Needs the right `tenant_read`.
         */
        get: operations["member_list"];
        put?: never;
        /**
         * Make somebody a member.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["member_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the projects of a tenant that the caller may see.
         * @description Needs the right `tenant_read`.
         */
        get: operations["project_list"];
        put?: never;
        /**
         * Create a project.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["project_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the suspension of a tenant.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["tenant_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/service-accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the service accounts of a tenant.
         * @description Needs the right `tenant_read`.
         */
        get: operations["service_account_list"];
        put?: never;
        /**
         * Create a service account.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["service_account_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suspend a tenant: what runs goes on, nothing new starts.
         * @description Needs the right `platform_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["tenant_suspend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a tenant's webhooks.
         * @description Needs the right `audit_read`.
         */
        get: operations["webhook_list"];
        put?: never;
        /**
         * Have a tenant's events sent to an address. The secret that signs them is shown this once.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["webhook_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tokens the caller may see: their own, and those of a tenant they administer.
         * @description Needs the right `self_read`.
         */
        get: operations["token_list"];
        put?: never;
        /**
         * Make a token.
         * @description Needs the right `self_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["token_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a token, without its secret.
         * @description Needs the right `self_read`.
         */
        get: operations["token_show"];
        put?: never;
        post?: never;
        /**
         * Revoke a token.
         * @description Needs the right `self_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["token_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a webhook, without its secret.
         * @description Needs the right `audit_read`.
         */
        get: operations["webhook_show"];
        put?: never;
        post?: never;
        /**
         * Remove a webhook. Nothing more is sent, and its deliveries are forgotten soon after.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        delete: operations["webhook_delete"];
        options?: never;
        head?: never;
        /**
         * Change a webhook.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        patch: operations["webhook_update"];
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries to a webhook, newest first. They are kept for 30 days.
         * @description Needs the right `audit_read`.
         */
        get: operations["webhook_delivery_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a delivery with what was sent and every attempt.
         * @description Needs the right `audit_read`.
         */
        get: operations["webhook_delivery_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send one event again, with the same `webhook-id`.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["webhook_delivery_replay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send every wanted event after a position, again where it was sent before.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["webhook_replay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a new secret. It is shown this once; the one before signs beside it for a while.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["webhook_rotate_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an event that says that somebody tries the webhook out.
         * @description Needs the right `tenant_manage`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["webhook_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say who the caller is.
         * @description Needs the right `self_read`.
         */
        get: operations["whoami"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workloads/{workload_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a workload.
         * @description Needs the right `project_read`.
         */
        get: operations["workload_show"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workloads/{workload_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a workload back, waiting or running, with all its members.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        post: operations["workload_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workloads/{workload_id}/explanation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say why a workload stands where it stands.
         * @description Needs the right `project_read`.
         */
        get: operations["workload_explain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workloads/{workload_id}/priority": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Change a workload's priority.
         * @description Needs the right `project_use`. Audited, and refused for tokens with the scope `read`.
         */
        put: operations["workload_priority"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description How to reach a guest that is up. Its address is private: the way in leads through the platform. */
        AccessView: {
            /** @description The key it shows on SSH, on one line. */
            host_key: string;
            /** @description Whether it has its address. */
            lease_state: components["schemas"]["GuestLeaseState"];
            /** @description The address of its network card. */
            mac: string;
            /** @description Its private address. */
            private_ip: string;
            /** @description The user that the keys open. */
            user: string;
        };
        /** @description What the owner wants. */
        AllocationDesired: "running" | "released";
        /** @description A later end of the lease. */
        AllocationExtendBody: {
            /** @description When it is given back by itself; later than it is now. */
            lease_ends_at: components["schemas"]["UtcTime"];
        };
        /** @example alc_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        AllocationId: string;
        /** @description A launch: of a SKU, or of whatever a hardware profile lets serve. */
        AllocationLaunchBody: {
            /** @description How many GPUs; one of the SKU's counts. */
            gpu_count: components["schemas"]["GpuCount"];
            /**
             * @description By what the hardware is chosen, instead of a SKU: any flavor of the profile may serve, whichever the queue can give
             *     first. For slices, in projects that have a queue.
             */
            hardware_profile?: components["schemas"]["Slug"];
            /** @description What to do when it cannot start at once: wait, where the project has a queue, unless said otherwise. */
            if_unavailable?: components["schemas"]["IfUnavailable"];
            /** @description What it is made of; the platform's default when absent. */
            image?: components["schemas"]["ImageName"];
            /** @description Words to find it by. */
            labels?: components["schemas"]["Labels"];
            /** @description When it is given back by itself; never when absent. */
            lease_ends_at?: components["schemas"]["UtcTime"];
            /**
             * @description How long it runs at most, from its admission; then it is given back by itself. Work that says so can be let past
             *     others that wait for more.
             */
            max_run_s?: components["schemas"]["MaxRunS"];
            /**
             * @description Whether it may be stopped and launched again elsewhere when its node is evacuated.
             * @default false
             */
            may_recreate?: boolean;
            /** @description A name for it; need not be unique. */
            name: components["schemas"]["Slug"];
            /**
             * @description Wishes about the place.
             * @default {}
             */
            placement?: components["schemas"]["PlacementWishes"];
            /** @description The class that its priority comes from; when absent that of the hardware profile, or else the platform's default. */
            priority_class?: components["schemas"]["Slug"];
            /** @description The queue of the project that it goes through; when absent that of the hardware profile, or else the project's default. */
            queue?: components["schemas"]["Slug"];
            /** @description Where. */
            region_id: components["schemas"]["RegionId"];
            /** @description What to launch; either this or a hardware profile. */
            sku_id?: components["schemas"]["SkuId"];
            /** @description Public keys of the project whose owners may sign in. */
            ssh_key_ids?: components["schemas"]["SshKeyId"][];
            /** @description What cloud-init is to do in the guest besides. Kept with the allocation, and shown only to those who may use the project. */
            user_data?: components["schemas"]["UserData"];
        } & unknown;
        /** @description What the host last said about an allocation. */
        AllocationObserved: {
            /** @description The guest, as its host saw it last. */
            guest?: components["schemas"]["GuestSeen"];
            /** @description Whether a guest is known to be up. */
            guest_up: boolean;
            /**
             * @description Whether building it failed; then it ends as `failed` once cleaned up.
             * @default false
             */
            provision_failed: boolean;
            /** @description Why it ended the way it did, or why it was refused. */
            reason?: string;
            /** @description What a refusal counted, and what would end it. */
            refusal?: components["schemas"]["PlacementRefusal"];
        };
        /** @description An allocation as operators see it: where it is and why. */
        AllocationPlaceView: {
            /** @description What its owner sees. */
            allocation: components["schemas"]["AllocationView"];
            /** @description Its claims, ended ones too. */
            claims: components["schemas"]["ClaimView"][];
            /** @description The newest decision about its place. */
            decision?: components["schemas"]["PlacedDecisionView"];
            /** @description The node's name. */
            node?: string;
            /** @description Its node. */
            node_id?: components["schemas"]["NodeId"];
            /** @description The slots that it holds now. */
            slots: components["schemas"]["SlotView"][];
            /** @description The orders that were given for it. */
            tasks: components["schemas"]["TaskView"][];
        };
        /** @description What became of everything that an allocation had. */
        AllocationProofsView: {
            /** @description The allocation. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description The same in a sentence. */
            projected: string;
            /** @description One entry a slot. */
            slots: components["schemas"]["WipeView"][];
        };
        /** @description Where the workflow stands. `reserved` to `releasing` hold claims; the last three hold none. */
        AllocationState: "requested" | "reserved" | "provisioning" | "running" | "releasing" | "released" | "refused" | "failed";
        /** @description What may change about an allocation that lives. At least one field. */
        AllocationUpdateBody: {
            /** @description Words to find it by; they take the place of all it has. */
            labels?: components["schemas"]["Labels"];
            /** @description Whether it may be stopped and launched again elsewhere when its node is evacuated. */
            may_recreate?: boolean;
            /** @description A name for it. */
            name?: components["schemas"]["Slug"];
        };
        /** @description An allocation. */
        AllocationView: {
            /** @description How to reach it, while it runs. */
            access?: components["schemas"]["AccessView"];
            /** @description When it was asked for. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What is wanted. */
            desired: components["schemas"]["AllocationDesired"];
            /** @description Why it is wanted released, as a word; absent while it is wanted, and when its owner gave it back. */
            desired_reason?: string;
            /** @description What its workflow is doing. */
            execution: components["schemas"]["AllocationState"];
            /**
             * Format: int64
             * @description How many GPUs.
             */
            gpu_count: number;
            /**
             * @description Whether something was written for cloud-init.
             * @default false
             */
            has_user_data: boolean;
            /** @description Its id. */
            id: components["schemas"]["AllocationId"];
            /** @description What it is made of, by its name in the catalogue. */
            image_id?: string;
            /** @description The digest of that, as it was at launch. */
            image_sha256?: string;
            /**
             * @description Words to find it by.
             * @default []
             */
            labels: components["schemas"]["Labels"];
            /** @description When it is given back by itself. */
            lease_ends_at?: components["schemas"]["Timestamp"];
            /** @description When its owner was told that this is soon. */
            lease_warned_at?: components["schemas"]["Timestamp"];
            /**
             * @description Whether it may be stopped and launched again elsewhere when its node is evacuated.
             * @default false
             */
            may_recreate: boolean;
            /** @description Its name. */
            name: components["schemas"]["Slug"];
            /** @description What the host last said. */
            observed: components["schemas"]["AllocationObserved"];
            /**
             * @description Wishes about the place.
             * @default {}
             */
            placement: components["schemas"]["PlacementWishes"];
            /** @description How far the workflow has come. */
            progress: components["schemas"]["ProgressView"];
            /** @description The project that holds it. */
            project_id: components["schemas"]["ProjectId"];
            /** @description One sentence. */
            projected: string;
            /** @description The allocation that took the place of this one. */
            recreated_as?: components["schemas"]["AllocationId"];
            /** @description The allocation that this one takes the place of. */
            recreated_from?: components["schemas"]["AllocationId"];
            /** @description Where. */
            region_id: components["schemas"]["RegionId"];
            /** @description In which form. */
            shape: components["schemas"]["CapacityShape"];
            /** @description What was launched. */
            sku_id: components["schemas"]["SkuId"];
            /**
             * @description Who may sign in, as the keys were at launch.
             * @default []
             */
            ssh_keys: components["schemas"]["LaunchKey"][];
            /** @description The tenant that holds it. */
            tenant_id: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
            /** @description The workload that it is a member of, where it goes through a queue. */
            workload_id?: components["schemas"]["WorkloadId"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        AllocationViewPage: {
            /** @description The items. */
            items: components["schemas"]["AllocationView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description What this server speaks. */
        ApiIndexView: {
            /** @description The version of the contract. */
            api_version: string;
            /** @description Additions to the contract that clients may test for. */
            extensions: string[];
            /** @description The version of the program. */
            program_version: string;
        };
        /** @description The rule that a refusal is about. */
        ApprovalRule: "no_discovery" | "node_not_ready" | "missing" | "malformed" | "fabric_mode" | "not_on_node" | "differs_from_host" | "used_by_other_slot" | "not_local_unicast" | "outside_pool_range" | "identity_shared" | "disk_state_unknown" | "system_disk" | "disk_mounted" | "disk_swap" | "disk_held" | "disk_not_blank" | "disk_too_small" | "not_a_virtual_function" | "bluefield_function" | "iommu_unknown" | "iommu_shared" | "not_in_lab";
        /** @description What came of approving everything that is complete. */
        ApprovedAllView: {
            /** @description The slots that came to be. */
            approved: components["schemas"]["SlotView"][];
            /** @description The candidates that did not, with what stood in the way. */
            left: components["schemas"]["CandidateView"][];
        };
        /** @example aud_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        AuditId: string;
        /** @description One audited action. */
        AuditView: {
            /** @description The operation. */
            action: string;
            /** @description Who: a principal's id, or `system:…`. */
            actor: string;
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /** @description SHA-256 over the entry and `prev_hash`. */
            hash?: string;
            /** @description Its id. */
            id: components["schemas"]["AuditId"];
            /** @description The hash of the entry before. */
            prev_hash?: string;
            /** @description In which request. */
            request_id: string;
            /**
             * Format: int64
             * @description Its place in the chain, once numbered.
             */
            sequence?: number;
            /** @description On what. */
            subject: string;
            /** @description In which tenant. */
            tenant_id?: components["schemas"]["TenantId"];
            /** @description With which token. */
            token_id?: components["schemas"]["TokenId"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        AuditViewPage: {
            /** @description The items. */
            items: components["schemas"]["AuditView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description Availability in all regions. */
        AvailabilityList: {
            /** @description By region and model. */
            items: components["schemas"]["AvailabilityView"][];
        };
        /** @description What can be had of one GPU model in one region: counts, never a device or an address. */
        AvailabilityView: {
            /** @description Whether anything can be launched there. */
            enabled: boolean;
            /**
             * @description What comes back by itself because leases end, soonest first.
             * @default []
             */
            forecast: components["schemas"]["ForecastView"][];
            /** @description The GPU. */
            gpu_model: components["schemas"]["GpuModel"];
            /**
             * Format: int64
             * @description The largest slice that one node can give now.
             */
            largest_slice_gpus: number;
            /** @description The same by pool; for operators. */
            pools?: components["schemas"]["PoolAvailabilityView"][];
            /** @description The same in a sentence. */
            projected: string;
            /** @description Its short name. */
            region: components["schemas"]["Slug"];
            /** @description The region. */
            region_id: components["schemas"]["RegionId"];
            /** @description Which sizes of which SKUs would find a place now; for operators. */
            skus?: components["schemas"]["SkuAvailabilityView"][];
            /**
             * Format: int64
             * @description GPUs that can be had as slices now.
             */
            slice_gpus: number;
            /**
             * Format: int64
             * @description Whole nodes that can be had now.
             */
            whole_nodes: number;
        };
        /** @description An allocation that got the claims it should have. */
        BackfilledView: {
            /** @description The allocation. */
            allocation_id: components["schemas"]["AllocationId"];
            /**
             * Format: int64
             * @description How many claims were written.
             */
            claims: number;
            /** @description Its node. */
            node_id: components["schemas"]["NodeId"];
        };
        /** @description One role the caller has. */
        BindingView: {
            /** @description In which project; the whole tenant when absent. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description As what. */
            role: components["schemas"]["MemberRole"];
            /** @description In which tenant. */
            tenant_id: components["schemas"]["TenantId"];
        };
        /** @description A function of a BlueField card. */
        BlueFieldFunction: {
            /** @description Whether the card is managed through it; otherwise it carries traffic. */
            management: boolean;
            /** @description What it is called. */
            name: string;
            /** @description Where it sits. */
            pci_address: components["schemas"]["PciAddress"];
        };
        /** @description What a queue that borrows may take from others in its cohort. */
        BorrowWithinCohort: {
            /** @description Only work of this priority or less; whatever is of less than its own when absent. */
            max_priority_threshold?: components["schemas"]["Priority"];
            /** @description Whose work. */
            policy: components["schemas"]["TakesWhileBorrowing"];
        };
        /** @description What is proposed for one GPU. */
        Candidate: {
            /** @description The devices, with the suggested MAC and address. */
            devices: components["schemas"]["SlotDevices"];
            /** @description How close the fabric function is. */
            fabric_closeness?: components["schemas"]["Closeness"];
            /** @description The physical function that the fabric function was cut from. */
            fabric_parent_pci_address?: components["schemas"]["PciAddress"];
            /** @description The GPU's family, when it is one that is sold. */
            gpu_model?: components["schemas"]["GpuModel"];
            /** @description The GPU's own unique name. */
            gpu_uuid?: string;
            /** @description What is missing before it could be approved. */
            missing: components["schemas"]["DeviceField"][];
            /** @description What a person should know: why a disk was not proposed, what a disk carries. */
            notes: string[];
            /** @description How close the disk is. */
            nvme_closeness?: components["schemas"]["Closeness"];
            /** @description Where the disk sits. */
            nvme_pci_address?: components["schemas"]["PciAddress"];
            /** @description Suggested names and addresses; empty when the GPU has no number to make them from. */
            suggestion?: components["schemas"]["Suggestion"];
        };
        /** @description What could become a slot, and whether it would be let through now. */
        CandidateView: {
            /** @description The devices and suggested addresses. */
            candidate: components["schemas"]["Candidate"];
            /** @description What stands in the way of approving it as it is; empty means nothing. */
            refusals: components["schemas"]["Refusal"][];
            /** @description The slot that has its GPU already. */
            slot_id?: components["schemas"]["SlotId"];
        };
        /** @description The form capacity is sold in. Shared shapes are not in this list until every layer can carry them. */
        CapacityShape: "baremetal" | "gpu_slice";
        /** @description What happened to the object. */
        Change: "created" | "updated" | "wished" | "state_changed" | "preempted" | "tested" | "deleted";
        /** @description The checks, in the order they are made and shown. */
        CheckCode: "tenant_active" | "project_active" | "region_enabled" | "sku_enabled" | "count_sellable" | "gpu_cap";
        /** @description How a check ended. */
        CheckOutcome: "passed" | "refused";
        /** @description One check of admission. */
        CheckView: {
            /** @description Which. */
            code: components["schemas"]["CheckCode"];
            /** @description With the values that decided it; left out of what is stored when there is no room. */
            detail?: string;
            /** @description How it ended. */
            outcome: components["schemas"]["CheckOutcome"];
        };
        /**
         * @description A range of IPv4 addresses, with no bits set after the prefix
         * @example 10.64.0.0/12
         */
        Cidr: string;
        /** @description How to backfill, and where to go on. */
        ClaimBackfillBody: {
            /** @description Only allocations after this one; from the first when absent. */
            after?: components["schemas"]["AllocationId"];
            /** @description Only say what would be done. */
            dry_run: boolean;
        };
        /** @description What a backfill did. */
        ClaimBackfillView: {
            /** @description Allocations that got claims. */
            claimed: components["schemas"]["BackfilledView"][];
            /** @description Allocations that could not get any. */
            left: components["schemas"]["NotBackfilledView"][];
            /** @description Pass this as `after` to go on; absent when all were looked at. */
            next_after?: components["schemas"]["AllocationId"];
        };
        /** @example clm_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        ClaimId: string;
        /** @description What a claim covers. */
        ClaimKind: "node_exclusive" | "slot";
        /** @description An exclusive right to a slot or node, active or ended. */
        ClaimView: {
            /** @description Who holds it. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description Since when. */
            claimed_at: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description The use of the slot it stands for.
             */
            fence: number;
            /** @description Its id. */
            id: components["schemas"]["ClaimId"];
            /** @description What it covers. */
            kind: components["schemas"]["ClaimKind"];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /** @description Until when. */
            released_at?: components["schemas"]["Timestamp"];
            /** @description The slot, unless it is for the whole node. */
            slot_id?: components["schemas"]["SlotId"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        ClaimViewPage: {
            /** @description The items. */
            items: components["schemas"]["ClaimView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description How close a device is to its GPU. */
        Closeness: "same_switch" | "same_numa";
        /** @description A CloudEvent in structured JSON. */
        CloudEvent: {
            /** @description What changed. */
            data: components["schemas"]["EventData"];
            /** @description Always `application/json`. */
            datacontenttype: string;
            /** @description Unique; what to dedupe on. */
            id: components["schemas"]["EventId"];
            /** @description The position in the stream, as text (a registered extension): dense, gap-free, from 1. */
            sequence: string;
            /** @description The store the event comes from. */
            source: string;
            /** @description Always `1.0`. */
            specversion: string;
            /** @description The id of the thing that changed. */
            subject: string;
            /** @description When it was committed. */
            time: components["schemas"]["Timestamp"];
            /** @description `io.gpuaas.NOUN.CHANGE.v1`. */
            type: string;
        };
        /** @description A queue with quota. */
        ClusterQueue: {
            /** @description The cohort it lends to and borrows from; it stands alone when absent. */
            cohort?: components["schemas"]["Slug"];
            /**
             * @description How it chooses among flavors.
             * @default {
             *       "preference": "borrowing_over_preemption",
             *       "when_can_borrow": "may_stop_search",
             *       "when_can_preempt": "try_next_flavor"
             *     }
             */
            fungibility?: components["schemas"]["Fungibility"];
            /**
             * @description How long its guests may take to stop in order after that, before they are cut off.
             * @default 30
             */
            grace_s?: components["schemas"]["NoticeS"];
            /**
             * @description How long work has its quota at least before it may be stopped for others. Who wants back what it lent waits for nobody.
             * @default 600
             */
            min_run_s?: components["schemas"]["MinRunS"];
            /**
             * @description How long work is warned before it has to stop.
             * @default 60
             */
            notice_s?: components["schemas"]["NoticeS"];
            /** @description Whose projects may come in; everybody's when absent. */
            open_to?: components["schemas"]["OpenTo"];
            /**
             * @description In which order its work goes.
             * @default best_effort_fifo
             */
            ordering?: components["schemas"]["Ordering"];
            /**
             * @description What it may take, and from whom.
             * @default {
             *       "reclaim_within_cohort": "never",
             *       "within_queue": "never"
             *     }
             */
            preemption?: components["schemas"]["Preemption"];
            /** @description What it has; 16 groups at most. */
            resource_groups?: components["schemas"]["ResourceGroup"][];
            /** @description Times of the week in which it has another quota; 64 at most, which do not overlap for one flavor and resource. */
            schedule?: components["schemas"]["Window"][];
            /** @description Short name, for ever. */
            slug: components["schemas"]["Slug"];
            /**
             * @description Whether it is stopped.
             * @default none
             */
            stop?: components["schemas"]["Stop"];
            /**
             * @description When given, local queues that used less of late, for their weight, come before others that lead here, whatever the
             *     priority of their work, and work of those that used most gives way first. What was used counts half after so long.
             */
            usage_half_life_s?: components["schemas"]["HalfLifeS"];
            /**
             * @description How much it counts against its siblings, in thousandths.
             * @default 1000
             */
            weight_milli?: components["schemas"]["WeightMilli"];
        };
        /** @description An object of governance. */
        ClusterQueueView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id, for its events. */
            id: components["schemas"]["GovernedId"];
            /** @description What it says. */
            spec: components["schemas"]["ClusterQueue"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        ClusterQueueViewPage: {
            /** @description The items. */
            items: components["schemas"]["ClusterQueueView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description Every way a request can be refused. */
        Code: "malformed_request" | "malformed_json" | "invalid_body" | "body_too_deep" | "invalid_parameter" | "invalid_header" | "invalid_page_token" | "idempotency_key_missing" | "unauthenticated" | "token_expired" | "token_revoked" | "forbidden" | "token_scope_too_narrow" | "csrf_refused" | "sign_in_refused" | "enrollment_refused" | "node_identity_refused" | "node_message_refused" | "not_found" | "route_not_found" | "method_not_allowed" | "request_timeout" | "name_taken" | "still_in_use" | "state_conflict" | "request_in_flight" | "last_admin" | "quota_exceeded" | "queue_missing" | "sku_unavailable" | "provisioning_failed" | "node_not_ready" | "ingress_not_owned" | "agent_superseded" | "stale_version" | "body_too_large" | "uri_too_long" | "range_refused" | "unsupported_media_type" | "idempotency_key_reused" | "unknown_reference" | "slot_refused" | "ssh_key_refused" | "governance_refused" | "lease_refused" | "ingress_out_of_range" | "image_refused" | "image_unavailable" | "image_unfit" | "lab_only" | "webhook_refused" | "not_for_sale" | "upgrade_required" | "version_required" | "rate_limited" | "stream_limit" | "headers_too_large" | "internal" | "store_unavailable" | "outcome_unknown" | "sign_in_unavailable" | "guest_unreachable";
        /** @description Queues and cohorts that lend to each other. */
        Cohort: {
            /** @description The cohort above it; it is a root when absent. */
            parent?: components["schemas"]["Slug"];
            /** @description What it has besides what its members have: for all of them. */
            resource_groups?: components["schemas"]["ResourceGroup"][];
            /** @description Short name, for ever. */
            slug: components["schemas"]["Slug"];
            /**
             * @description How much it counts against its siblings, in thousandths.
             * @default 1000
             */
            weight_milli?: components["schemas"]["WeightMilli"];
        };
        /** @description An object of governance. */
        CohortView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id, for its events. */
            id: components["schemas"]["GovernedId"];
            /** @description What it says. */
            spec: components["schemas"]["Cohort"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        CohortViewPage: {
            /** @description The items. */
            items: components["schemas"]["CohortView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description How much was looked at. */
        Considered: {
            /**
             * Format: uint32
             * @description Nodes in the fleet.
             */
            nodes: number;
            /**
             * Format: uint32
             * @description Nodes on which it would have fitted.
             */
            nodes_fitting: number;
            /**
             * Format: uint32
             * @description Slot sets that were compared.
             */
            sets: number;
        };
        /** @description Whose slices may be on the same node. */
        CoTenancy: "any" | "same_tenant";
        /** @description A day of the week. */
        Day: "monday" | "tuesday" | "wednesday" | "thursday" | "friday" | "saturday" | "sunday";
        /** @example dec_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        DecisionId: string;
        /** @description What a stored decision answered. */
        DecisionOutcome: "admitted" | "placed" | "refused";
        /** @description A decision about an allocation, as its owner may see it. */
        DecisionView: {
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /** @description The same in a sentence. */
            because: string;
            /** @description The checks of admission. */
            checks: components["schemas"]["CheckView"][];
            /** @description How much was looked at. */
            considered?: components["schemas"]["Considered"];
            /** @description Its id. */
            id: components["schemas"]["DecisionId"];
            /** @description What kind of set was chosen. */
            kind?: components["schemas"]["SetKind"];
            /** @description Nodes that were passed over, by why. */
            nodes: components["schemas"]["PassedOver"][];
            /** @description What it answered. */
            outcome: components["schemas"]["DecisionOutcome"];
            /** @description Why there was no place. */
            refusal?: components["schemas"]["PlacementRefusal"];
            /** @description What spoke against the chosen place, and against the next best. */
            scores: components["schemas"]["Score"][];
            /**
             * Format: int64
             * @description Which picture of the fleet it was made on: how far the events had come.
             */
            snapshot_version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        DecisionViewPage: {
            /** @description The items. */
            items: components["schemas"]["DecisionView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description How a delivery of one event to one webhook stands. */
        DeliveryState: "pending" | "delivered" | "failed" | "exhausted";
        /** @description What a slot needs before it can be sold. */
        DeviceField: "gpu_pci_address" | "gpu_module_id" | "nvme_identity" | "mgmt_mac" | "private_ip" | "fabric_vf_pci_address" | "numa_node";
        /**
         * @description 1 to 128 printable ASCII characters and inner spaces
         * @example eui.36344730528001250025384500000001
         */
        DeviceName: string;
        /** @description Everything that was found on a host. */
        Discovery: {
            /** @description Functions of BlueField cards; those that carry traffic are under `fabric_functions` too. */
            bluefield_functions: components["schemas"]["BlueFieldFunction"][];
            /** @description PCI bridges: root ports and the ports of PCIe switches. */
            bridges: components["schemas"]["PciFunction"][];
            /** @description Network functions that can do RDMA (InfiniBand or RoCE), and the virtual functions cut from them. */
            fabric_functions: components["schemas"]["FabricFunction"][];
            /** @description What the fabric manager said; empty when it could not be asked. */
            fabric_manager?: components["schemas"]["FabricProbe"];
            /** @description Its GPUs, of any maker that the platform knows. */
            gpus: components["schemas"]["Gpu"][];
            /** @description The host itself. */
            host: components["schemas"]["HostFacts"];
            /** @description Where guest images are kept; empty when nobody looked. */
            image_cache?: components["schemas"]["ImageCacheProbe"];
            /** @description Who shares an IOMMU group with whom. */
            iommu_groups: components["schemas"]["IommuGroup"][];
            /** @description A laboratory's disks: loop devices and the files behind them. Nobody else's agent lists any. */
            lab_disks?: components["schemas"]["LabDisk"][];
            /** @description Whether it could be seen what is mounted. If not, no disk counts as free. */
            mounts_known: boolean;
            /** @description Other network functions. */
            network_functions: components["schemas"]["NetworkFunction"][];
            /** @description What could not be read, or made no sense. */
            notes: components["schemas"]["DiscoveryNote"][];
            /** @description Its memory nodes. */
            numa_nodes: components["schemas"]["NumaNode"][];
            /** @description Its NVMe disks; also those that a guest holds and of which only the PCI function is seen. */
            nvme_disks: components["schemas"]["NvmeDisk"][];
            /** @description The switches of the NVLink fabric. */
            nvswitches: components["schemas"]["PciFunction"][];
            /** @description PCI functions that are nothing of the above. */
            other: components["schemas"]["PciFunction"][];
            /** @description Its other disks, and what is built on top of disks. */
            other_disks: components["schemas"]["OtherDisk"][];
            /**
             * @description The sets of GPUs that can be isolated, as the fabric manager reported them; empty when it reported none that make
             *     sense.
             */
            partitions?: components["schemas"]["Partitions"];
            /**
             * @description The PCIe switches that GPUs, disks and fabric functions hang off, with what hangs there. What shares one belongs
             *     together: it can move data without passing the processor.
             */
            pcie_switches: components["schemas"]["PcieSwitch"][];
            /** @description Which programs are installed; empty when nobody looked. */
            tools?: components["schemas"]["ToolsProbe"];
        };
        /** @description Something that could not be read, or made no sense. */
        DiscoveryNote: {
            /** @description Where. */
            path: string;
            /** @description What is wrong. */
            reason: string;
        };
        /** @description What the newest discovery of a node found, beside what is approved. */
        DiscoveryView: {
            /** @description When it came in. */
            at: components["schemas"]["Timestamp"];
            /** @description What could become slots. Advice: a candidate is never for sale. */
            candidates: components["schemas"]["CandidateView"][];
            /** @description SHA-256 of what was found, in hexadecimal: the same host in the same state gives the same. */
            digest: string;
            /** @description Everything that was found. */
            discovery: components["schemas"]["Discovery"];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /**
             * Format: int64
             * @description Counts the discoveries of this node.
             */
            number: number;
            /** @description The order that found it. */
            task_id: components["schemas"]["TaskId"];
        };
        /** @description A disk that the platform may destroy although something was found on it. */
        DiskGrantCreateBody: {
            /** @description The disk, by its own identity. */
            nvme_identity: components["schemas"]["DeviceName"];
            /** @description What shows that its content may go: the wipe or remap proof on record. */
            reason: components["schemas"]["Note"];
        };
        /** @description A grant. */
        DiskGrantView: {
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /** @description Who said so. */
            granted_by: string;
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /** @description The disk. */
            nvme_identity: string;
            /** @description What shows that its content may go. */
            reason: string;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        DiskGrantViewPage: {
            /** @description The items. */
            items: components["schemas"]["DiskGrantView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description A part of a disk. */
        DiskPart: {
            /** @description What the kernel calls it at the moment. */
            name: string;
            /**
             * Format: uint64
             * @description Its size.
             */
            size_bytes?: number;
            /** @description What is on it and who uses it. */
            usage: components["schemas"]["DiskUsage"];
        };
        /** @description Who uses a disk or a part of one. */
        DiskUsage: {
            /** @description Whether anybody looked at what is on it. */
            content_known: boolean;
            /** @description The signature found on it: `ext4`, `linux_raid_member`. */
            filesystem?: string;
            /** @description Where that is mounted. */
            holder_mount_points: string[];
            /** @description What is built on top of it: `md0`, `dm-1`. */
            holders: string[];
            /** @description Where it is mounted. */
            mount_points: string[];
            /** @description Its table of parts: `gpt`, `dos`. */
            part_table?: string;
            /** @description Whether the host swaps to it. */
            swap: boolean;
        };
        /**
         * @description 1 to 80 printable letters, digits, punctuation and inner spaces (Latin, Greek, Cyrillic, Japanese, Chinese, Korean)
         * @example Acme Research
         */
        DisplayName: string;
        /** @description How something changed. */
        DriftKind: "gone" | "moved" | "replaced" | "driver_changed" | "vf_changed" | "disk_mounted" | "link_degraded" | "refused" | "quarantined";
        /** @description One field of a slot that is not as approved any more. */
        DriftView: {
            /** @description As approved. */
            approved: string;
            /** @description The same in a sentence. */
            detail: string;
            /** @description Which field. */
            field: string;
            /** @description When it was first seen. */
            first_seen_at: components["schemas"]["Timestamp"];
            /** @description What happened to it. */
            kind: components["schemas"]["DriftKind"];
            /** @description When it was last seen. */
            last_seen_at: components["schemas"]["Timestamp"];
            /** @description Whose word it is. */
            said_by: components["schemas"]["SaidBy"];
            /** @description As the host shows it now. */
            seen: string;
        };
        /**
         * @description 64 lower-case hexadecimal digits
         * @example d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
         */
        Ed25519Key: string;
        /** @description What a change would do to a workload. */
        EffectKind: "starts" | "stops" | "waits_otherwise";
        /** @description What a change would do to one workload. */
        EffectView: {
            /** @description What would happen to it. */
            effect: components["schemas"]["EffectKind"];
            /** @description What it is called. */
            name: string;
            /** @description Its queue. */
            queue: string;
            /** @description Under which rule it would have to go, where it would. */
            rule?: components["schemas"]["PreemptionRule"];
            /** @description Why it would wait, where it would. */
            wait?: components["schemas"]["ExplanationView"];
            /** @description Which one. */
            workload_id: components["schemas"]["WorkloadId"];
        };
        /** @description The same wish in another region, or as another SKU of the same GPUs. */
        ElsewhereView: {
            /** @description Whether it would fit there now. */
            fits: boolean;
            /**
             * Format: int64
             * @description How many GPUs it would be: as many as asked for, or the next more that this SKU is sold in.
             */
            gpu_count: number;
            /** @description What it would cost. */
            price: components["schemas"]["PriceView"];
            /** @description The same in a sentence. */
            projected: string;
            /** @description Its short name. */
            region: components["schemas"]["Slug"];
            /** @description Where. */
            region_id: components["schemas"]["RegionId"];
            /** @description Its short name. */
            sku: components["schemas"]["Slug"];
            /** @description As what. */
            sku_id: components["schemas"]["SkuId"];
        };
        /**
         * @description an e-mail address in lower case such as ada@acme.example
         * @example ada@acme.example
         */
        Email: string;
        /** Format: int64 */
        EnrollmentLifetimeS: number;
        /** @description A host to be brought in. */
        EnrollmentTokenCreateBody: {
            /** @description The serial number its mainboard must have; any when absent. */
            hardware_serial?: components["schemas"]["DisplayName"];
            /** @description How long the token can be used. */
            lifetime_s: components["schemas"]["EnrollmentLifetimeS"];
            /** @description What it will be called. The name of a node that is there already means: enroll that host again, with a new key. */
            node_name: components["schemas"]["Slug"];
            /** @description The pool it will be in. */
            pool_id: components["schemas"]["PoolId"];
        };
        /** @description A new token with its secret, which is shown once. */
        EnrollmentTokenCreatedView: {
            /** @description SHA-256 of the authority that signs both sides' certificates, in hexadecimal: the agent trusts no other. */
            authority_sha256: string;
            /** @description What the agent is started with. */
            secret: string;
            /** @description The token. */
            token: components["schemas"]["EnrollmentTokenView"];
        };
        /** @example enr_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        EnrollmentTokenId: string;
        /** @description A one-time token, without its secret. */
        EnrollmentTokenView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Until when it can be used. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description The serial number its mainboard must have. */
            hardware_serial?: string;
            /** @description Its id. */
            id: components["schemas"]["EnrollmentTokenId"];
            /** @description The node it became. */
            node_id?: components["schemas"]["NodeId"];
            /** @description What the host will be called. */
            node_name: components["schemas"]["Slug"];
            /** @description The pool the host will be in. */
            pool_id: components["schemas"]["PoolId"];
            /** @description One sentence. */
            projected: string;
            /** @description When it was taken back. */
            revoked_at?: components["schemas"]["Timestamp"];
            /** @description When it was used. */
            used_at?: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        EnrollmentTokenViewPage: {
            /** @description The items. */
            items: components["schemas"]["EnrollmentTokenView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description How a disk was erased, as far as the evidence names it. */
        EraseMethod: "nvme_sanitize" | "nvme_format" | "discard" | "overwrite" | "unnamed";
        /** @description What comes of evacuating a node. It is drained: nothing new is placed on it. */
        EvacuationView: {
            /** @description What leaves. */
            leaving: components["schemas"]["LeavingView"][];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /** @description The same in a sentence. */
            projected: string;
            /** @description What stays, and why. */
            staying: components["schemas"]["StayingView"][];
        };
        /** @description What changed. */
        EventData: {
            /** @description What happened to it. */
            change: components["schemas"]["Change"];
            /** @description What a workload was told that has to go; only in that event. */
            detail?: components["schemas"]["PreemptionNotice"];
            /** @description What kind of thing. */
            noun: components["schemas"]["Noun"];
            /**
             * Format: int64
             * @description The version the change produced.
             */
            object_version: number;
            /** @description The project it belongs to. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description Why. */
            reason?: string;
            /** @description The workflow state before. */
            state_from?: string;
            /** @description The workflow state after. */
            state_to?: string;
            /** @description The tenant it belongs to. */
            tenant_id?: components["schemas"]["TenantId"];
        };
        /**
         * @example allocation.state_changed
         * @example workload.*
         */
        EventFilter: string;
        /** @example evt_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        EventId: string;
        /** @description A run of events. */
        EventPage: {
            /**
             * Format: int64
             * @description The newest position in the store.
             */
            head: number;
            /** @description The events, oldest first. Events of others are left out, so the sequences of a tenant's page may have gaps. */
            items: components["schemas"]["CloudEvent"][];
            /**
             * Format: int64
             * @description Pass this as `after` to go on.
             */
            next_after: number;
        };
        /** Format: int64 */
        EventPosition: number;
        /** @description What a proof had to be about when it came in. */
        ExpectedProof: {
            /** @description The disk that was approved for the slot. */
            disk_identity?: string;
            /** @description The node that was asked. */
            node_id: components["schemas"]["NodeId"];
            /** @description The challenge that was given. */
            nonce: string;
            /** @description The slot that was released. */
            slot_id: components["schemas"]["SlotId"];
            /** @description The steps that the slot's devices need. */
            steps: components["schemas"]["WipeStep"][];
            /**
             * Format: int64
             * @description The use that ended.
             */
            use_generation: number;
        };
        /** @description Why a workload is where it is, with the numbers behind it. */
        ExplanationView: {
            /**
             * Format: int64
             * @description How much of it is asked for.
             */
            asked: number;
            /**
             * Format: int64
             * @description How much of it can be had.
             */
            available: number;
            /** @description The queue or cohort that has no more. */
            blocked_at?: string;
            /** @description Why, in one word that never changes. */
            code: string;
            /** @description When it starts at the latest if nobody else comes; absent where that is not known. */
            estimated_start_at?: components["schemas"]["Timestamp"];
            /** @description The flavor of which too little is there. */
            flavor?: string;
            /** @description Who holds it, who borrowed most first. */
            holders: components["schemas"]["HolderView"][];
            /**
             * Format: int64
             * @description How many wait in its queue.
             */
            of?: number;
            /**
             * Format: int64
             * @description How many are looked at before it, and one; absent when it is not in the line.
             */
            position?: number;
            /** @description What its quota is or will be worth. */
            promise?: components["schemas"]["PromiseKind"];
            /** @description Its queue. */
            queue: string;
            /** @description The resource. */
            resource?: string;
            /** @description The same and the rest in sentences. */
            sentence: string;
            /**
             * Format: int64
             * @description The difference.
             */
            shortfall: number;
            /** @description The flavors that were tried, in the order of the queue. */
            tried?: components["schemas"]["FlavorTriedView"][];
            /** @description What would help, most likely first. */
            unblocks: components["schemas"]["WayOutView"][];
        };
        /** @description How a slot takes part in the fabric. */
        FabricClaimMode: "per_slot_vf" | "none";
        /** @description A network function that can do RDMA. */
        FabricFunction: {
            /** @description Whether it belongs to a BlueField, which carries the host's own traffic. */
            bluefield: boolean;
            /** @description Its card's GUID. */
            card_guid?: string;
            /** @description Its firmware's version. */
            firmware?: string;
            /** @description Its network interfaces. */
            interfaces: components["schemas"]["NetworkInterface"][];
            /** @description Its own GUID. */
            node_guid?: string;
            /** @description The physical function that a virtual one was cut from. */
            parent?: components["schemas"]["PciAddress"];
            /** @description Where and how it is attached. */
            pci: components["schemas"]["PciFunction"];
            /** @description Its ports. */
            ports: components["schemas"]["FabricPort"][];
            /** @description What the kernel calls it; empty when a guest holds it. */
            rdma_name?: string;
            /** @description Whether it is a port or a share of one. */
            role: components["schemas"]["FabricRole"];
            /**
             * Format: uint32
             * @description Its number among its parent's.
             */
            vf_index?: number;
            /** @description The virtual functions cut from a physical one. */
            vfs: components["schemas"]["PciAddress"][];
            /**
             * Format: uint32
             * @description How many could be cut.
             */
            vfs_max?: number;
        };
        /** @description Who may use the NVSwitches; the fabric manager's own setting. */
        FabricMode: "bare_metal" | "shared_nvswitch" | "vgpu";
        /** @description One set of GPUs that the fabric manager can isolate. */
        FabricPartition: {
            /** @description Its GPUs by module id. */
            gpus: number[];
            /**
             * Format: uint32
             * @description Its number on this node.
             */
            id: number;
            /**
             * Format: uint32
             * @description NVLinks for each GPU.
             */
            nvlinks?: number;
        };
        /** @description A port of a fabric function. */
        FabricPort: {
            /** @description What runs over it. */
            link_layer?: components["schemas"]["LinkLayer"];
            /**
             * Format: uint32
             * @description Its number.
             */
            number: number;
            /** @description The cable's state in the kernel's word: `linkup`, `polling`. */
            physical_state?: string;
            /**
             * Format: uint64
             * @description How fast it is.
             */
            rate_mbps?: number;
            /** @description Its state in the kernel's word: `active`, `down`, `init`. */
            state?: string;
        };
        /** @description What the fabric manager says. */
        FabricProbe: {
            /** @description Who may use the switches. */
            fabric_mode?: components["schemas"]["FabricMode"];
            /** @description The sets of GPUs it can isolate. */
            partitions: components["schemas"]["FabricPartition"][];
            /** @description Whether it is at work. */
            state: components["schemas"]["FabricServiceState"];
            /** @description Its version; it has to match the guests' driver. */
            version?: string;
        };
        /** @description What a fabric function is. */
        FabricRole: "physical" | "virtual";
        /** @description Whether the fabric manager is at work. */
        FabricServiceState: "running" | "stopped" | "not_installed";
        /** @description The last fault of a workflow that is being tried again. */
        FaultView: {
            /**
             * Format: int64
             * @description How many times in a row.
             */
            count: number;
            /** @description The last one. */
            last: string;
        };
        /** @description One field that says something else. */
        FieldChangeView: {
            /** @description What it says, as JSON text. */
            after?: string;
            /** @description What it said, as JSON text. */
            before?: string;
            /** @description Its name. */
            field: string;
        };
        /** @description One field that breaks a rule. */
        FieldError: {
            /** @description What would be accepted. */
            detail: string;
            /** @description JSON Pointer into the body, or the name of the parameter or header. */
            pointer: string;
        };
        /** @description One thing that was not as it should be. */
        Finding: {
            /** @description What was done. */
            action: components["schemas"]["FindingAction"];
            /** @description Whose, where that is known. */
            allocation_id?: components["schemas"]["AllocationId"];
            /** @description One sentence. */
            detail: string;
            /** @description What kind of thing. */
            kind: components["schemas"]["FindingKind"];
            /** @description The slot it is about, where that is known. */
            slot_id?: components["schemas"]["SlotId"];
            /** @description Which thing: a name on the host. */
            thing: string;
        };
        /** @description What was done about it. */
        FindingAction: "repaired" | "reported" | "quarantined" | "failed";
        /** @description What is wrong. */
        FindingCode: "duplicate_name" | "renamed" | "settled" | "unknown_reference" | "cohort_cycle" | "duplicate_entry" | "uneven_group" | "unknown_resource" | "limit_without_cohort" | "lending_above_nominal" | "sum_too_large" | "windows_overlap" | "wrong_minute" | "second_default" | "disordered" | "not_open" | "still_referred" | "weight_zero" | "quota_below_usage";
        /** @description What on a host was not as its claims say. */
        FindingKind: "guest_without_claim" | "claim_without_guest" | "guest_differs" | "orphan_process" | "stray_network" | "missing_network" | "stray_lease" | "stray_seed" | "stray_file" | "slot_disk" | "wrong_driver" | "image_cache" | "partition" | "guest_address";
        /** @description Something that is wrong, or worth knowing. */
        FindingView: {
            /** @description What is wrong. */
            code: components["schemas"]["FindingCode"];
            /** @description What would be accepted, or what it means. */
            detail: string;
            /** @description JSON Pointer into the object. */
            field: string;
            /** @description The kind of the object that says so. */
            kind: components["schemas"]["GovernanceKind"];
            /** @description The project, for local queues. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description Whether it keeps the change from being made. */
            refuses: boolean;
            /** @description The object's short name. */
            slug: components["schemas"]["Slug"];
        };
        /** @description A kind of GPU that quota is given in. It covers the nodes of one GPU model, or of one pool, or both. */
        Flavor: {
            /** @description Only nodes with these GPUs; any when absent. */
            gpu_model?: components["schemas"]["GpuModel"];
            /** @description Labels that work may ask for. */
            labels?: components["schemas"]["Labels"];
            /** @description Only nodes of this pool, by its short name; any when absent. */
            pool?: components["schemas"]["Slug"];
            /** @description Short name, for ever. */
            slug: components["schemas"]["Slug"];
            /**
             * @description How fast it is, in thousandths of the reference: fairness counts work, not devices.
             * @default 1000
             */
            speed_milli?: components["schemas"]["SpeedMilli"];
            /** @description What keeps work away that does not put up with it: 8 at most. */
            taints?: components["schemas"]["Taint"][];
            /** @description What work on it puts up with without saying so: 8 at most. */
            tolerations?: components["schemas"]["Toleration"][];
            /** @description The levels of places of its nodes, by short name. */
            topology?: components["schemas"]["Slug"];
        };
        /** @description What there is in one flavor. */
        FlavorQuotas: {
            /** @description The flavor, by short name. */
            flavor: components["schemas"]["Slug"];
            /** @description Resource by resource, each once. */
            quotas: components["schemas"]["Quota"][];
        };
        /** @description A flavor that was tried for a workload. */
        FlavorTriedView: {
            /** @description Which flavor. */
            flavor: string;
            /** @description How it stands: `no_fit`, `no_candidates`, `preempt`, `reclaim` or `fit`, the worst first. */
            reach: string;
        };
        /** @description An object of governance. */
        FlavorView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id, for its events. */
            id: components["schemas"]["GovernedId"];
            /** @description What it says. */
            spec: components["schemas"]["Flavor"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        FlavorViewPage: {
            /** @description The items. */
            items: components["schemas"]["FlavorView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description GPUs that come back when leases end. They are wiped and proved clean before they can be had. */
        ForecastView: {
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description How many.
             */
            gpus: number;
        };
        /** @description How a queue chooses among flavors that do at a price. */
        Fungibility: {
            /**
             * @description Which of both it prefers.
             * @default borrowing_over_preemption
             */
            preference?: components["schemas"]["Preference"];
            /**
             * @description When it would have to borrow.
             * @default may_stop_search
             */
            when_can_borrow?: components["schemas"]["Search"];
            /**
             * @description When others would have to be stopped.
             * @default try_next_flavor
             */
            when_can_preempt?: components["schemas"]["Search"];
        };
        /**
         * @description All objects at one moment, and the form of a file that describes them. Lists are in no particular order, except where a
         *     field says so.
         */
        Governance: {
            /** @description Queues with quota. */
            cluster_queues?: components["schemas"]["ClusterQueue"][];
            /** @description Queues that lend to each other. */
            cohorts?: components["schemas"]["Cohort"][];
            /** @description Kinds of GPUs. */
            flavors?: components["schemas"]["Flavor"][];
            /** @description What people choose hardware by. */
            hardware_profiles?: components["schemas"]["HardwareProfile"][];
            /** @description Projects' ways into them. */
            local_queues?: components["schemas"]["LocalQueue"][];
            /** @description Priorities by name. */
            priority_classes?: components["schemas"]["PriorityClass"][];
            /** @description Levels of places. */
            topologies?: components["schemas"]["Topology"][];
        };
        /** @description What happens to an object. */
        GovernanceAction: "create" | "update" | "delete" | "keep";
        /** @description What an apply did, or would do. */
        GovernanceAppliedView: {
            /** @description What happens to each object that the document has, and to those that go. */
            changes: components["schemas"]["GovernanceChangeView"][];
            /** @description Whether nothing was done. */
            dry_run: boolean;
            /** @description What is wrong, or worth knowing. What refuses is only here after a dry run. */
            findings: components["schemas"]["FindingView"][];
            /**
             * Format: int64
             * @description The version of all objects together, after it.
             */
            version: number;
        };
        /** @description Objects that are wanted. */
        GovernanceApplyBody: {
            /**
             * @description Whether only to say what would happen.
             * @default false
             */
            dry_run?: boolean;
            /** @description The objects, each said as a whole. */
            governance: components["schemas"]["Governance"];
            /**
             * @description Whether objects that the document does not have go.
             * @default false
             */
            prune?: boolean;
        };
        /** @description What happens to one object. */
        GovernanceChangeView: {
            /** @description What happens. */
            action: components["schemas"]["GovernanceAction"];
            /** @description Field by field. */
            fields: components["schemas"]["FieldChangeView"][];
            /** @description Its kind. */
            kind: components["schemas"]["GovernanceKind"];
            /** @description The project, for local queues. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description Its short name. */
            slug: components["schemas"]["Slug"];
        };
        /** @description The kinds of objects, in the order in which they can be made: what is referred to comes first. */
        GovernanceKind: "topology" | "flavor" | "priority_class" | "cohort" | "cluster_queue" | "local_queue" | "hardware_profile";
        /** @description All objects at one moment. */
        GovernanceView: {
            /** @description The objects. The same document can be applied. */
            governance: components["schemas"]["Governance"];
            /**
             * Format: int64
             * @description Rises by one with every change of any object; the ETag.
             */
            version: number;
        };
        /** @example gov_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        GovernedId: string;
        /** @description A GPU. */
        Gpu: {
            /** @description Its windows into memory; a guest needs room for them. */
            bars: components["schemas"]["PciBar"][];
            /** @description Whether memory errors are corrected. */
            ecc_enabled?: boolean;
            /**
             * Format: uint64
             * @description Its memory.
             */
            memory_mib?: number;
            /** @description Whether it is cut into MIG instances. */
            mig_enabled?: boolean;
            /** @description The family it is sold as, when it is one that is sold. */
            model?: components["schemas"]["GpuModel"];
            /** @description Its number on the board; empty when the driver cannot be asked. */
            module_id?: components["schemas"]["ModuleId"];
            /**
             * Format: uint32
             * @description How many NVLinks are up.
             */
            nvlinks?: number;
            /** @description Where and how it is attached. */
            pci: components["schemas"]["PciFunction"];
            /** @description What the driver calls it, or else its ids' name. */
            product?: string;
            /** @description How it can be reset, best first. */
            reset_methods: string[];
            /** @description Its serial number. */
            serial?: string;
            /** @description Its own unique name; empty when the driver cannot be asked. */
            uuid?: string;
            /** @description Its firmware. */
            vbios?: string;
            /** @description Who made it. */
            vendor: components["schemas"]["GpuVendor"];
        };
        /** Format: int64 */
        GpuCap: number;
        /** Format: int64 */
        GpuCount: number;
        /** @description GPU model families the platform knows how to sell. */
        GpuModel: "h200-sxm" | "a100-sxm" | "lab";
        /** @description Who made a GPU. */
        GpuVendor: "nvidia" | "amd";
        /** @description How a guest's lease stands. */
        GuestLeaseState: "leased" | "waiting" | "expired" | "wrong_address";
        /** @description A guest as its host sees it. */
        GuestSeen: {
            /** @description What executes its instructions: `kvm` or `tcg`. */
            accelerator: string;
            /** @description The address it has leased. */
            actual_ip?: string;
            /** @description The address that was reserved for it. */
            expected_ip: string;
            /** @description The host key it shows on SSH, on one line. Made on its host; the private half never leaves it. */
            host_key: string;
            /** @description How the lease stands. */
            lease_state: components["schemas"]["GuestLeaseState"];
            /** @description The address of its network card. */
            mac: string;
        };
        /** @description A guest of the host and how it stands. */
        GuestStanding: {
            /** @description Whose it is. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description Whether its machine runs. */
            running: boolean;
            /** @description What is seen of it. */
            seen: components["schemas"]["GuestSeen"];
        };
        /** Format: int64 */
        HalfLifeS: number;
        /** @description One flavor that would do for a workload. */
        HardwareChoiceView: {
            /** @description The flavor whose quota it would use. */
            flavor: components["schemas"]["Slug"];
            /** @description The SKU that it would be sold as. */
            sku_id: components["schemas"]["SkuId"];
        };
        /** @description What people choose hardware by, in words of theirs. */
        HardwareProfile: {
            /**
             * @description Whether it can be chosen.
             * @default true
             */
            enabled?: boolean;
            /**
             * @description Any of these flavors, the first in the order of the queue that can be had; any GPU when empty. A flavor counts if a
             *     SKU for slices of its GPUs is sold in the size that is asked for; of several the cheapest is bought.
             */
            flavors?: components["schemas"]["Slug"][];
            /**
             * @description How many GPUs the command line asks for unless said.
             * @default 1
             */
            gpu_count_default?: components["schemas"]["GpuCount"];
            /**
             * @description How many GPUs at most.
             * @default 8
             */
            gpu_count_max?: components["schemas"]["GpuCount"];
            /**
             * @description How many GPUs at least.
             * @default 1
             */
            gpu_count_min?: components["schemas"]["GpuCount"];
            /**
             * @description The local queue to wait in, by its short name in whichever project chooses the profile; that project's default when
             *     absent.
             */
            local_queue?: components["schemas"]["Slug"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description The priority class; the default when absent. */
            priority_class?: components["schemas"]["Slug"];
            /** @description Short name, for ever. */
            slug: components["schemas"]["Slug"];
            /** @description The taints of flavors that whoever chooses the profile puts up with: 8 at most. */
            tolerations?: components["schemas"]["Toleration"][];
        };
        /** @description An object of governance. */
        HardwareProfileView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id, for its events. */
            id: components["schemas"]["GovernedId"];
            /** @description What it says. */
            spec: components["schemas"]["HardwareProfile"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        HardwareProfileViewPage: {
            /** @description The items. */
            items: components["schemas"]["HardwareProfileView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description What may serve a workload that named a hardware profile, as the profile was when the workload was submitted. */
        HardwareView: {
            /** @description What would do, in the order of the profile; which of it can be had first is for the queue to say. */
            choices: components["schemas"]["HardwareChoiceView"][];
            /** @description The profile. */
            profile: components["schemas"]["Slug"];
        };
        /** @description A queue that holds some of what is missing. */
        HolderView: {
            /**
             * Format: int64
             * @description How much of that is beyond its own.
             */
            borrowed: number;
            /**
             * Format: int64
             * @description How much it uses.
             */
            holds: number;
            /** @description Which queue. */
            queue: string;
        };
        /** @description What is in a tenant or project, counted when it was shown; in lists, when its workflow last moved. Once it is deleted this is the proof that nothing is left. */
        Holdings: {
            /**
             * Format: int64
             * @description Allocations that have not ended.
             */
            allocations: number;
            /**
             * Format: int64
             * @description Active claims.
             */
            claims: number;
            /** @description When this was counted. */
            counted_at?: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Memberships.
             */
            members: number;
            /**
             * Format: int64
             * @description Projects that are not deleted; 0 for a project.
             */
            projects: number;
            /**
             * Format: int64
             * @description Service accounts; 0 for a project.
             */
            service_accounts: number;
            /**
             * Format: int64
             * @description Tokens that still work.
             */
            tokens: number;
        };
        /** @description A host as a machine. */
        HostFacts: {
            /** @description Its firmware's version. */
            bios_version?: string;
            /** @description Its own name. */
            hostname?: string;
            /** @description The IOMMU units that are at work. */
            iommu_units: string[];
            /** @description What the kernel was started with, as far as it matters here: IOMMU, VFIO and hugepage settings, in order. */
            kernel_arguments: string[];
            /** @description The running kernel. */
            kernel_release?: string;
            /** @description The NVIDIA driver's version, when it is loaded. */
            nvidia_driver_version?: string;
            /** @description Which product it is. */
            product?: string;
            /** @description Whether the system asks for a reboot to finish an update. */
            reboot_pending: boolean;
            /** @description Whether Secure Boot is on; empty when the firmware does not say. */
            secure_boot?: boolean;
            /** @description Its serial number. */
            serial?: string;
            /** @description Whether it was started by UEFI firmware. */
            uefi: boolean;
            /** @description Who made it. */
            vendor?: string;
            /** @description Whether devices can be handed to guests: the `vfio-pci` driver is loaded. */
            vfio_loaded: boolean;
        };
        /** @description Something on a host that is not as it was approved or needed. */
        HostRefusal: {
            /** @description What was looked at, as a word. */
            check: string;
            /** @description What was approved or needed. */
            expected: string;
            /** @description What there is. */
            found: string;
            /** @description Of which slot; none when it is about the order as a whole. */
            slot_id?: components["schemas"]["SlotId"];
        };
        /**
         * Format: int64
         * @enum {integer}
         */
        HugepageKib: 2048 | 1048576;
        /** @description The huge pages of one size on one memory node. */
        Hugepages: {
            /**
             * Format: uint64
             * @description How many of them nobody uses.
             */
            free?: number;
            /**
             * Format: uint64
             * @description The size of one.
             */
            size_kib: number;
            /**
             * Format: uint64
             * @description How many are set aside.
             */
            total: number;
        };
        /** @description What to do when it cannot start at once. */
        IfUnavailable: "refuse" | "queue";
        /** @description Where guest images are kept. */
        ImageCacheProbe: {
            /**
             * Format: uint64
             * @description Room left.
             */
            free_bytes: number;
            /** @description The directory. */
            path: string;
        };
        /** @description How the file is to be read. Never guessed from the file: a guess is the writer's choice, not ours. */
        ImageFormat: "raw" | "qcow2";
        /** @description A key that may sign entries of the catalogue from now on. */
        ImageKeyAddBody: {
            /** @description A name for it, by which entries refer to it. */
            key_id: components["schemas"]["ImageName"];
            /** @description The public half. */
            public_key: components["schemas"]["Ed25519Key"];
        };
        /** @description A key that may sign entries of the catalogue. */
        ImageKeyView: {
            /** @description Who added it. */
            added_by: string;
            /** @description When it was added. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its name. */
            key_id: string;
            /** @description The public half, Ed25519 in hexadecimal. */
            public_key: string;
            /** @description Since when it is not trusted any more. What it signed before stays. */
            revoked_at?: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        ImageKeyViewPage: {
            /** @description The items. */
            items: components["schemas"]["ImageKeyView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description What is in an image. */
        ImageKind: "base" | "cuda";
        /**
         * @description 1 to 64 of a-z, 0-9, '.', '_' and '-'
         * @example debian-12
         */
        ImageName: string;
        /** @description An entry of the catalogue. */
        ImageSpec: {
            /** @description How the file is to be read. */
            format: components["schemas"]["ImageFormat"];
            /** @description Its name in the catalogue: 1 to 64 of a-z, 0-9, '.', '_' and '-'. */
            id: string;
            /** @description What is in it. */
            kind: components["schemas"]["ImageKind"];
            /**
             * Format: uint64
             * @description The smallest disk it works on.
             */
            minimum_disk_bytes: number;
            /** @description The SHA-256 of the file, in lower-case hexadecimal. */
            sha256: string;
            /** @description Ed25519 over [`ImageSpec::signed_text`], in lower-case hexadecimal. */
            signature: string;
            /** @description Which key signed the entry. */
            signer_key_id: string;
            /**
             * Format: uint64
             * @description How long the file is.
             */
            size_bytes: number;
            /**
             * Format: uint64
             * @description How many bytes it fills on a disk: a multiple of 512, and for a raw file its length.
             */
            virtual_size_bytes: number;
        };
        /** @description Where an image stands in the catalogue. */
        ImageState: "registered" | "available" | "retired";
        /** @description What may change about an image. At least one field. */
        ImageUpdateBody: {
            /** @description Whether it is what is launched when nobody names one. There is one such image at most; the last to be named is it. */
            is_default?: boolean;
        };
        /** @description An image of the catalogue. */
        ImageView: {
            /** @description When it was registered. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What it is, as it was signed. */
            entry: components["schemas"]["ImageSpec"];
            /** @description Its name. */
            id: string;
            /** @description Whether it is what is launched when nobody names one. */
            is_default: boolean;
            /** @description One sentence. */
            projected: string;
            /** @description Where it stands. */
            state: components["schemas"]["ImageState"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        ImageViewPage: {
            /** @description The items. */
            items: components["schemas"]["ImageView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @example inc_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        IncidentId: string;
        /** @description What an agent did that an honest one does not. */
        IncidentKind: "acted_for_another" | "claimed_foreign_device" | "replayed_result" | "oversized_output" | "clock_far_off" | "identity_shared" | "revoked_identity";
        /** @description Something an agent did that an honest one does not. Repeats are counted. */
        IncidentView: {
            /**
             * Format: int64
             * @description How often.
             */
            count: number;
            /** @description The last time in a sentence. */
            detail: string;
            /** @description When first. */
            first_at: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["IncidentId"];
            /** @description What. */
            kind: components["schemas"]["IncidentKind"];
            /** @description When last. */
            last_at: components["schemas"]["Timestamp"];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        IncidentViewPage: {
            /** @description The items. */
            items: components["schemas"]["IncidentView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description A way in that somebody wants. */
        IngressCreateBody: {
            /** @description To whose guest. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description The guest's port. */
            guest_port: components["schemas"]["Port"];
            /** @description What travels. */
            protocol: components["schemas"]["IngressProtocol"];
            /** @description The public port; one that is free when absent. */
            public_port?: components["schemas"]["Port"];
        };
        /** @example ing_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        IngressId: string;
        /** @description What travels through a way in. */
        IngressProtocol: "tcp" | "udp";
        /** @description Addresses and ports that may be used. */
        IngressRange: {
            /** @description Addresses, such as `203.0.113.8/29`. The first and the last are not given out, unless there is only one or two. */
            addresses: components["schemas"]["Cidr"];
            /** @description Highest port. */
            port_max: components["schemas"]["Port"];
            /** @description Lowest port. */
            port_min: components["schemas"]["Port"];
        };
        /** @description Who owns ways in, and what may be used. */
        IngressSettingsBody: {
            /** @description Who answers for the addresses. */
            address_owner: components["schemas"]["DisplayName"];
            /** @description Who answers for the firewall. */
            firewall_owner: components["schemas"]["DisplayName"];
            /** @description What may be used: 1 to 16 ranges. */
            ranges: components["schemas"]["IngressRange"][];
        };
        /** @description Who owns ways in to a region. */
        IngressSettingsView: {
            /** @description Who answers for the addresses; absent while nobody does. */
            address_owner?: components["schemas"]["DisplayName"];
            /** @description Who answers for the firewall; absent while nobody does. */
            firewall_owner?: components["schemas"]["DisplayName"];
            /** @description One sentence. */
            projected: string;
            /** @description What may be used. */
            ranges: components["schemas"]["IngressRange"][];
            /** @description The region. */
            region_id: components["schemas"]["RegionId"];
            /**
             * Format: int64
             * @description The version of the region, which these are part of; the ETag.
             */
            version: number;
        };
        /**
         * @description Where a way in stands.
         * @constant
         */
        IngressState: "accepted";
        /** @description A way in. */
        IngressView: {
            /**
             * Format: ipv4
             * @description The public address.
             */
            address: string;
            /** @description To whose guest. It goes when the allocation does. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Where it stands. */
            execution: components["schemas"]["IngressState"];
            /**
             * Format: int64
             * @description The guest's port.
             */
            guest_port: number;
            /** @description Its id. */
            id: components["schemas"]["IngressId"];
            /** @description The project it belongs to. */
            project_id: components["schemas"]["ProjectId"];
            /** @description One sentence. */
            projected: string;
            /** @description What travels. */
            protocol: components["schemas"]["IngressProtocol"];
            /**
             * Format: int64
             * @description The public port.
             */
            public_port: number;
            /** @description The region it leads into. */
            region_id: components["schemas"]["RegionId"];
            /** @description The tenant it belongs to. */
            tenant_id: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        IngressViewPage: {
            /** @description The items. */
            items: components["schemas"]["IngressView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description Functions that can be handed to a guest only together. */
        IommuGroup: {
            /** @description The bridges in it, which stay with the host. */
            bridges: components["schemas"]["PciAddress"][];
            /** @description Its functions, bridges apart. */
            members: components["schemas"]["PciAddress"][];
            /**
             * Format: uint32
             * @description Its number.
             */
            number: number;
        };
        /**
         * @description 20 to 1000 printable letters, digits, punctuation and inner spaces (Latin, Greek, Cyrillic, Japanese, Chinese, Korean)
         * @example The disk was taken out and shredded; see the protocol.
         */
        Justification: string;
        /** @description A loop device that stands for a disk. */
        LabDisk: {
            /** @description The file behind it. */
            backing_file: string;
            /** @description The device now. */
            device: string;
            /** @description What makes it that one: `loop:` and the file behind it. The device may be another one after a reboot. */
            identity: string;
            /**
             * Format: uint64
             * @description How long it is.
             */
            size_bytes: number;
            /** @description What the host itself does with it: where it is mounted, what is built on top of it. */
            used_for: string[];
        };
        /** @description A word that an owner sticks to an allocation to find it again. */
        Label: {
            /** @description What it is called. */
            key: components["schemas"]["LabelKey"];
            /** @description What it says. */
            value: components["schemas"]["LabelValue"];
        };
        /**
         * @description 1 to 128 letters, digits, hyphens, underscores and dots, starting and ending with a letter or digit; before it there may be a domain in lower case and a slash
         * @example team
         */
        LabelKey: string;
        /**
         * @description At most 32 labels, each key once.
         * @example [
         *       {
         *         "key": "team",
         *         "value": "vision"
         *       }
         *     ]
         */
        Labels: components["schemas"]["Label"][];
        /**
         * @description 1 to 63 letters, digits, hyphens, underscores and dots, starting and ending with a letter or digit
         * @example vision
         */
        LabelValue: string;
        /** @description A public key as it was when the allocation was asked for; a key that is deleted later stays where it was put. */
        LaunchKey: {
            /** @description SHA-256 of the key, as `ssh-keygen -l` shows it. */
            fingerprint: string;
            /** @description What its project calls it. */
            name: components["schemas"]["Slug"];
            /** @description The key in one line. */
            public_key: string;
        };
        /** @description An allocation that leaves a node. */
        LeavingView: {
            /** @description The allocation. */
            allocation_id: components["schemas"]["AllocationId"];
            /**
             * Format: int64
             * @description How many GPUs.
             */
            gpu_count: number;
            /** @description In which project. */
            project_id: components["schemas"]["ProjectId"];
            /** @description Whether it is launched again elsewhere once it is stopped. */
            recreated: boolean;
            /** @description Whose it is. */
            tenant_id: components["schemas"]["TenantId"];
        };
        /** @description What runs over a fabric port. */
        LinkLayer: "infiniband" | "ethernet";
        /** @description What a list begins with. */
        ListOrder: "oldest" | "newest";
        /** @description A project's way into a queue with quota. */
        LocalQueue: {
            /** @description The queue it leads to, by short name; settled at birth. */
            cluster_queue: components["schemas"]["Slug"];
            /**
             * @description Whether requests that name no queue go here; one at most in a project.
             * @default false
             */
            default?: boolean;
            /** @description Whose it is. */
            project_id: components["schemas"]["ProjectId"];
            /** @description Short name in the project, for ever. */
            slug: components["schemas"]["Slug"];
            /**
             * @description Whether it is stopped.
             * @default none
             */
            stop?: components["schemas"]["Stop"];
            /**
             * @description How much it counts against others that lead to the same queue, in thousandths, where that queue counts what was used.
             * @default 1000
             */
            weight_milli?: components["schemas"]["WeightMilli"];
        };
        /** @description An object of governance. */
        LocalQueueView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id, for its events. */
            id: components["schemas"]["GovernedId"];
            /** @description What it says. */
            spec: components["schemas"]["LocalQueue"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        LocalQueueViewPage: {
            /** @description The items. */
            items: components["schemas"]["LocalQueueView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description A machine as its provider last showed it. */
        MachineView: {
            /** @description What does not agree with the platform, one sentence each. */
            findings: string[];
            /** @description Its host name there. */
            hostname: string;
            /** @description A person locked it. */
            locked: boolean;
            /** @description Which machine of which provider, as `provider/id`. */
            machine: string;
            /** @description The order that has it. */
            mark?: string;
            /** @description The node it is. */
            node_id?: components["schemas"]["NodeId"];
            /** @description Whether it runs: `on`, `off`, `error` or `unknown`. */
            power: string;
            /** @description When it was seen like this. */
            seen_at: components["schemas"]["Timestamp"];
            /** @description Its serial number there. */
            serial?: string;
            /** @description Where it is in its provider's life cycle, in the provider's words. */
            status: string;
            /** @description Its tags. */
            tags: string[];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        MachineViewPage: {
            /** @description The items. */
            items: components["schemas"]["MachineView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** Format: int64 */
        MaxRunS: number;
        /** Format: int64 */
        MemberCount: number;
        /** @description A new membership. `project_member` needs a project, `tenant_admin` must not have one, `viewer` may. */
        MemberCreateBody: {
            /** @description In which project; the whole tenant when absent. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description As what. */
            role: components["schemas"]["MemberRole"];
            /** @description Who. */
            subject: components["schemas"]["MemberSubject"];
        } & (unknown & unknown);
        /** @example mbr_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        MemberId: string;
        /** @description A role inside a tenant. */
        MemberRole: "tenant_admin" | "project_member" | "viewer";
        /** @description Who becomes a member. */
        MemberSubject: {
            email: components["schemas"]["Email"];
        } | {
            service_account: components["schemas"]["PrincipalId"];
        };
        /** @description What may change about a membership. */
        MemberUpdateBody: {
            /** @description As what. */
            role: components["schemas"]["MemberRole"];
        };
        /** @description A membership. */
        MemberView: {
            /** @description Since when. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["MemberId"];
            /** @description Who. */
            principal_id: components["schemas"]["PrincipalId"];
            /** @description Person or service account. */
            principal_kind: components["schemas"]["PrincipalKind"];
            /** @description E-mail address or account name. */
            principal_name: string;
            /** @description The project; the whole tenant when absent. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description As what. */
            role: components["schemas"]["MemberRole"];
            /** @description The tenant. */
            tenant_id: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        MemberViewPage: {
            /** @description The items. */
            items: components["schemas"]["MemberView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** Format: int64 */
        MemoryMibPerGpu: number;
        /** Format: int64 */
        MinDiskBytes: number;
        /** Format: int64 */
        MinRunS: number;
        /** Format: int64 */
        MinuteOfDay: number;
        /**
         * Format: uint32
         * @description The number a GPU has on its board. It is not its PCI address and not its index in a driver's list.
         */
        ModuleId: number;
        /** @description A network function without RDMA. */
        NetworkFunction: {
            /** @description Its network interfaces. */
            interfaces: components["schemas"]["NetworkInterface"][];
            /** @description The physical function that a virtual one was cut from. */
            parent?: components["schemas"]["PciAddress"];
            /** @description Where and how it is attached. */
            pci: components["schemas"]["PciFunction"];
        };
        /** @description A network interface. */
        NetworkInterface: {
            /** @description Its hardware address. */
            hardware_address?: string;
            /**
             * Format: uint32
             * @description The largest packet.
             */
            mtu?: number;
            /** @description What the kernel calls it. */
            name: string;
            /**
             * Format: uint64
             * @description How fast it is.
             */
            speed_mbps?: number;
            /** @description Its state in the kernel's word: `up`, `down`. */
            state?: string;
        };
        /** @description What a node is to become. */
        NodeConvertBody: {
            /** @description The profile it will have. */
            to: components["schemas"]["NodeProfile"];
        };
        /** @description What operators want of a node. */
        NodeDesired: "in_service" | "drained" | "disabled";
        /** @example nod_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        NodeId: string;
        /** @description What a node is meant for. Intent alone sells nothing: a promotion needs evidence too. */
        NodeProfile: "gpuaas-profile-slice-vm" | "gpuaas-profile-baremetal";
        /** @description Whether a node's agent has been heard of lately. Expiry changes scheduling only: running tenants are not touched. */
        NodeState: "enrolled" | "online" | "silent";
        /** @description What may change about a node. At least one field. */
        NodeUpdateBody: {
            /** @description Which machine of which provider it is, as `provider/id`; empty when it is none. */
            machine?: string;
            /** @description What it is meant for. */
            profiles?: components["schemas"]["NodeProfile"][];
        };
        /** @description An enrolled GPU host. */
        NodeView: {
            /**
             * Format: int64
             * @description How many times its agent has started.
             */
            agent_boot: number;
            /** @description The version of its agent. */
            agent_version?: string;
            /** @description Since when. */
            converting_since?: components["schemas"]["Timestamp"];
            /** @description What it is being turned into; `progress` says what that waits for. */
            converting_to?: components["schemas"]["NodeProfile"];
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What operators want of it. */
            desired: components["schemas"]["NodeDesired"];
            /** @description Why, in their words. */
            desired_reason?: string;
            /** @description Whether its agent has been heard of lately. */
            execution: components["schemas"]["NodeState"];
            /** @description Its GPUs. */
            gpu_model: components["schemas"]["GpuModel"];
            /** @description Since when the machine itself is a tenant's; it ends when its host is enrolled and looked at again. */
            handed_over_at?: components["schemas"]["Timestamp"];
            /** @description Its mainboard's serial number. */
            hardware_serial?: string;
            /** @description Its id. */
            id: components["schemas"]["NodeId"];
            /**
             * Format: int64
             * @description How many kinds of incidents are on record.
             */
            incidents: number;
            /** @description When its agent was last heard of. */
            last_seen_at?: components["schemas"]["Timestamp"];
            /** @description Which machine of which provider it is, as `provider/id`. */
            machine?: string;
            /** @description Its host name. */
            name: string;
            /** @description What kind of claim it carries. */
            occupancy: components["schemas"]["OccupancyMode"];
            /** @description Its pool. */
            pool_id: components["schemas"]["PoolId"];
            /** @description How much of it can be had. */
            posture: components["schemas"]["Posture"];
            /** @description What it is meant for. */
            profiles: components["schemas"]["NodeProfile"][];
            /** @description How far the workflow has come. */
            progress: components["schemas"]["ProgressView"];
            /** @description One sentence: why it has that posture. */
            projected: string;
            /** @description Since when it may be cut into slices. */
            promoted_at?: components["schemas"]["Timestamp"];
            /** @description What is missing before it may be; empty once it is promoted or could be. */
            promotion_needs: string[];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        NodeViewPage: {
            /** @description The items. */
            items: components["schemas"]["NodeView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description An allocation without claims that could not get any. */
        NotBackfilledView: {
            /** @description The allocation. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description What speaks against it. */
            because: string;
        };
        /**
         * @description 1 to 200 printable letters, digits, punctuation and inner spaces (Latin, Greek, Cyrillic, Japanese, Chinese, Korean)
         * @example Contract ended
         */
        Note: string;
        /** Format: int64 */
        NoticeS: number;
        /** @description The nouns whose changes are recorded. */
        Noun: "tenant" | "project" | "principal" | "member" | "token" | "region" | "pool" | "sku" | "slot_profile" | "image" | "image_key" | "ssh_key" | "enrollment_token" | "node" | "slot" | "wipe_override" | "ingress" | "workload" | "allocation" | "task" | "topology" | "flavor" | "cohort" | "cluster_queue" | "local_queue" | "priority_class" | "hardware_profile" | "webhook";
        /** @description A memory node with its processors. */
        NumaNode: {
            /** @description Its processors, as the kernel lists them: `0-55,112-167`. */
            cpus?: string;
            /** @description Its huge pages, by size. */
            hugepages: components["schemas"]["Hugepages"][];
            /**
             * Format: uint64
             * @description Its memory.
             */
            memory_mib?: number;
            /**
             * Format: uint32
             * @description Its number.
             */
            number: number;
        };
        /** @description An NVMe disk: one namespace, or a function of which no namespace is seen. */
        NvmeDisk: {
            /** @description Its firmware's version. */
            firmware?: string;
            /**
             * @description What it is recognised by, wherever it is plugged: its WWID, else EUI, NGUID or serial number. Empty when a guest
             *     holds it.
             */
            identity?: string;
            /** @description Whether another disk here shows the same identity; neither can be told apart then. */
            identity_shared: boolean;
            /** @description Which product it is. */
            model?: string;
            /** @description What the kernel calls it at the moment. */
            name?: string;
            /** @description The parts it is cut into. */
            parts: components["schemas"]["DiskPart"][];
            /** @description Where and how it is attached; empty when it is reached over a network. */
            pci?: components["schemas"]["PciFunction"];
            /** @description Its serial number. */
            serial?: string;
            /**
             * Format: uint64
             * @description Its size.
             */
            size_bytes?: number;
            /** @description Whether the host's own system lives on it, directly or through something built on top. */
            system_disk: boolean;
            /** @description What is on it and who uses it. */
            usage: components["schemas"]["DiskUsage"];
        };
        /** @description How full every pool is. */
        OccupancyList: {
            /** @description By region and pool. */
            items: components["schemas"]["OccupancyView"][];
        };
        /** @description What kind of claim a node may carry right now; the mode cannot change while an active claim refers to it. */
        OccupancyMode: "free" | "sliced" | "exclusive";
        /** @description How full a pool is. */
        OccupancyView: {
            /** @description Its GPUs. */
            gpu_model: components["schemas"]["GpuModel"];
            /**
             * Format: int64
             * @description GPUs that are being wiped or wait for the proof of it.
             */
            gpus_blocked: number;
            /**
             * Format: int64
             * @description GPUs whose slots are out of sale.
             */
            gpus_disabled: number;
            /**
             * Format: int64
             * @description GPUs that are proved clean and approved.
             */
            gpus_free: number;
            /**
             * Format: int64
             * @description GPUs that somebody holds.
             */
            gpus_held: number;
            /**
             * Format: int64
             * @description The largest slice that one node can give now.
             */
            largest_slice_gpus: number;
            /** @description Its short name. */
            pool: components["schemas"]["Slug"];
            /** @description The pool. */
            pool_id: components["schemas"]["PoolId"];
            /** @description Its nodes by posture. */
            postures: components["schemas"]["PostureCount"][];
            /** @description The same in a sentence. */
            projected: string;
            /** @description Its short name. */
            region: components["schemas"]["Slug"];
            /** @description The region. */
            region_id: components["schemas"]["RegionId"];
            /**
             * Format: int64
             * @description Whole nodes that can be had now.
             */
            whole_nodes: number;
        };
        /** @description Where to go after the identity provider. */
        OidcStartBody: {
            /** @description The page of the portal to come back to; its first one when absent. */
            return_to?: components["schemas"]["SitePath"];
        };
        /** @description Where the browser goes next. */
        OidcStartView: {
            /** @description The identity provider's page. */
            authorization_url: string;
        };
        /** @description An identity provider that people sign in through. */
        OidcWayView: {
            /** @description What people know it as. */
            name: string;
        };
        /** @description Whose projects may have local queues into a queue. */
        OpenTo: {
            /** @description And these projects. */
            projects?: components["schemas"]["ProjectId"][];
            /** @description All projects of these tenants. */
            tenants?: components["schemas"]["TenantId"][];
        };
        /** @description Why an operation failed. */
        OperationError: {
            /** @description The stable code. */
            code: components["schemas"]["Code"];
            /** @description One sentence. */
            detail: string;
            /** @description What a refused placement counted, and what would end it. */
            refusal?: components["schemas"]["PlacementRefusal"];
        };
        /** @example opn_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        OperationId: string;
        /** @description How far an operation has come. Steps are counted, not measured: one may take a moment and the next an hour. */
        OperationProgress: {
            /** @description What is being done now, in one sentence. */
            description: string;
            /**
             * Format: uint32
             * @description Steps that are behind it.
             */
            done_steps: number;
            /**
             * Format: uint32
             * @description All steps of this kind of work.
             */
            total_steps: number;
        };
        /** @description Where an operation stands. */
        OperationState: "running" | "succeeded" | "failed";
        /** @description Long work. */
        OperationView: {
            /** @description When it was started. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Who started it. */
            created_by: components["schemas"]["PrincipalId"];
            /** @description Why it failed. */
            error?: components["schemas"]["OperationError"];
            /** @description When it ended. */
            finished_at?: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["OperationId"];
            /** @description The operation of the API that started it. */
            kind: string;
            /** @description What kind of thing it works on. */
            noun: components["schemas"]["Noun"];
            /** @description How far it has come; absent once it failed. */
            progress?: components["schemas"]["OperationProgress"];
            /** @description The project it belongs to. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description Where it stands. */
            state: components["schemas"]["OperationState"];
            /** @description The thing it works on. */
            subject_id: string;
            /** @description The tenant it belongs to. */
            tenant_id?: components["schemas"]["TenantId"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        OperationViewPage: {
            /** @description The items. */
            items: components["schemas"]["OperationView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description A new operator. */
        OperatorCreateBody: {
            /** @description Who. */
            email: components["schemas"]["Email"];
            /** @description As what. */
            role: components["schemas"]["PlatformRole"];
        };
        /** @description In which order work of a queue goes. */
        Ordering: "strict_fifo" | "best_effort_fifo" | "lifo" | "priority";
        /** @description A disk that is not NVMe, or something built on top of disks. Never handed to a guest. */
        OtherDisk: {
            /** @description Which product it is, or what it is called. */
            model?: string;
            /** @description Where it or a part of it is mounted, directly or through what is built on top. */
            mount_points: string[];
            /** @description What the kernel calls it at the moment. */
            name: string;
            /** @description Where it is attached, when that is a PCI function. */
            pci_address?: components["schemas"]["PciAddress"];
            /**
             * Format: uint64
             * @description Its size.
             */
            size_bytes?: number;
        };
        /** @description Where the wish stands that a slot goes on without a proof of its wipe. */
        OverrideState: "requested" | "approved" | "rejected" | "expired" | "used";
        /** Format: int64 */
        PageSize: number;
        /** @description Opaque: the next_page_token of an earlier page of the same list. */
        PageToken: string;
        /** @description The sellable sets of one board. A set's position is its partition id on that node. */
        Partitions: {
            /** @description Every GPU of the board. */
            board: components["schemas"]["ModuleId"][];
            /** @description The sets that can be isolated. */
            sets: components["schemas"]["ModuleId"][][];
        };
        /** @description Nodes that were passed over for one reason. */
        PassedOver: {
            /**
             * Format: uint32
             * @description How many.
             */
            nodes: number;
            /** @description Why. */
            reason: components["schemas"]["Reason"];
        };
        /**
         * @description Where a function sits on the PCI bus
         * @example 0000:0f:00.0
         */
        PciAddress: string;
        /** @description One window of a function into memory. */
        PciBar: {
            /**
             * Format: uint64
             * @description Its size.
             */
            bytes: number;
            /**
             * Format: uint32
             * @description Which of the six.
             */
            index: number;
        };
        /** @description A PCIe switch with what hangs off it directly. */
        PcieSwitch: {
            /** @description Fabric functions, virtual ones included. */
            fabric: components["schemas"]["PciAddress"][];
            /** @description GPUs. */
            gpus: components["schemas"]["PciAddress"][];
            /** @description NVMe disks. */
            nvme: components["schemas"]["PciAddress"][];
            /** @description Its port towards the processor. */
            upstream_port: components["schemas"]["PciAddress"];
        };
        /** @description One function on the PCI bus. */
        PciFunction: {
            /** @description Where it sits. */
            address: components["schemas"]["PciAddress"];
            /** @description What kind of thing it says it is: six hex digits. */
            class?: string;
            /** @description What it is: four hex digits. */
            device_id?: string;
            /** @description The driver it is bound to. */
            driver?: string;
            /**
             * Format: uint32
             * @description The IOMMU group it is in; empty when the IOMMU is off.
             */
            iommu_group?: number;
            /** @description Its link; empty for functions that have none of their own. */
            link?: components["schemas"]["PciLink"];
            /** @description What it is called, when the platform knows its ids. */
            name?: string;
            /**
             * Format: uint32
             * @description The memory node it hangs off.
             */
            numa_node?: number;
            /** @description Who built it into what: two times four hex digits. */
            subsystem_id?: string;
            /** @description The PCIe switches between it and the root, outermost first, each by its upstream port. */
            switches: components["schemas"]["PciAddress"][];
            /** @description Who made it: four hex digits. */
            vendor_id?: string;
        };
        /** @description A PCIe link, in mega-transfers a second and lanes. */
        PciLink: {
            /**
             * Format: uint32
             * @description How fast it is.
             */
            speed_mtps?: number;
            /**
             * Format: uint32
             * @description How fast it could be.
             */
            speed_mtps_max?: number;
            /**
             * Format: uint32
             * @description How wide it is.
             */
            width?: number;
            /**
             * Format: uint32
             * @description How wide it could be.
             */
            width_max?: number;
        };
        /** @description A decision about an allocation, with hardware. */
        PlacedDecisionView: {
            /** @description What the owner sees. */
            decision: components["schemas"]["DecisionView"];
            /**
             * Format: uint32
             * @description How many entries were left out to keep the record short.
             */
            left_out: number;
            /**
             * Format: uint32
             * @description The number of the chosen set in the node's table.
             */
            partition?: number;
            /** @description The chosen place and the next best, the best first. */
            places: components["schemas"]["PlaceView"][];
            /** @description The policy that ranked the places, by its short name. */
            policy?: string;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        PlacedDecisionViewPage: {
            /** @description The items. */
            items: components["schemas"]["PlacedDecisionView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description Why there is no place, in numbers. */
        PlacementRefusal: {
            /** @description Since when the longest waiting slot has had no proof of its wipe. */
            blocked_since?: components["schemas"]["Timestamp"];
            /** @description The stable code. */
            code: components["schemas"]["Code"];
            /**
             * Format: uint32
             * @description Free GPUs on nodes that take this form.
             */
            free_gpus: number;
            /**
             * Format: uint32
             * @description The most that one node could give together.
             */
            largest_set_gpus: number;
            /** @description Every node that was passed over, by why. */
            nodes: components["schemas"]["PassedOver"][];
            /** @description The slots that were asked about. */
            slots?: components["schemas"]["SlotCounts"];
            /** @description What would let it in; those that need nobody's decision first. */
            unblocks: components["schemas"]["UnblockView"][];
        };
        /** @description What its owner wishes about the place, besides size and region. */
        PlacementWishes: {
            /** @description Whose slices may be beside it. */
            co_tenancy?: components["schemas"]["CoTenancy"];
            /** @description The group of the project that it belongs to. Without one `spread` means nothing. */
            group?: components["schemas"]["Slug"];
            /** @description Only in this pool. */
            pool_id?: components["schemas"]["PoolId"];
            /** @description How it lies to the others of its group. */
            spread?: components["schemas"]["Spread"];
        };
        /** @description A place that was compared. */
        PlaceView: {
            /** @description The GPUs on its board; left out where the number of the set says the same. */
            gpu_modules: number[];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /** @description What speaks against it. */
            score: components["schemas"]["Score"];
            /**
             * Format: uint32
             * @description How often its slots were used.
             */
            wear: number;
        };
        /** @description CPUs and memory of one memory node. */
        PlanCell: {
            /** @description The host's CPUs; each carries one virtual CPU. */
            cpus: number[];
            /**
             * Format: uint64
             * @description Memory.
             */
            memory_mib: number;
            /**
             * Format: uint32
             * @description The memory node.
             */
            numa_node: number;
        };
        /** @description Slots to plan for. */
        PlanOrderBody: {
            /** @description The slots of the node that a guest would have, each once. */
            slot_ids: components["schemas"]["SlotId"][];
        };
        /** @description What a guest on some slots would get. */
        PlanReport: {
            /** @description CPUs and memory by memory node. */
            cells: components["schemas"]["PlanCell"][];
            /** @description Block devices that it gets whole. */
            disks: string[];
            /**
             * Format: uint64
             * @description The size of the pages its memory is made of; ordinary ones when absent.
             */
            hugepage_kib?: number;
            /** @description Its private address. */
            ip: string;
            /** @description The address of its network card. */
            mac: string;
            /** @description PCI functions that it gets whole. */
            pci_addresses: string[];
            /** @description What stands against it; the rest is empty unless this is. */
            refusals: components["schemas"]["HostRefusal"][];
        };
        /** @description What a guest would get on some slots of a node, or what stands against it. */
        PlanReportView: {
            /** @description When it came in. */
            at: components["schemas"]["Timestamp"];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /** @description What the host said. */
            report: components["schemas"]["PlanReport"];
            /** @description The order that asked for it. */
            task_id: components["schemas"]["TaskId"];
        };
        /** @description What would happen if this were launched now. Nothing is reserved. */
        PlanView: {
            /** @description Whether it would be let in. */
            admitted: boolean;
            /** @description Every check of admission. */
            checks: components["schemas"]["CheckView"][];
            /** @description Whether it would fit in other regions, or as another SKU of the same GPUs. */
            elsewhere: components["schemas"]["ElsewhereView"][];
            /** @description Whether it would find a place now. */
            fits: boolean;
            /** @description What it would be made of. */
            gpu_model: components["schemas"]["GpuModel"];
            /** @description What kind of set would be chosen. */
            kind?: components["schemas"]["SetKind"];
            /**
             * Format: int64
             * @description Memory that comes with it.
             */
            memory_mib: number;
            /** @description What it would cost. */
            price: components["schemas"]["PriceView"];
            /** @description The same in a sentence. */
            projected: string;
            /** @description Why it has no place. */
            refusal?: components["schemas"]["PlacementRefusal"];
            /** @description In which form. */
            shape: components["schemas"]["CapacityShape"];
            /**
             * Format: int64
             * @description Virtual CPUs that come with it.
             */
            vcpus: number;
        };
        /** @description A role over the whole platform. */
        PlatformRole: "platform_operator" | "operator_read_only";
        /** @description Who decides now, and how far the records have come. */
        PlatformStatusView: {
            /**
             * Format: int64
             * @description The newest chained audit entry.
             */
            audit_head: number;
            /**
             * Format: int64
             * @description How many times the lead has changed hands.
             */
            epoch: number;
            /**
             * Format: int64
             * @description The newest numbered event.
             */
            event_head: number;
            /**
             * Format: int64
             * @description Raised when a backup is restored.
             */
            incarnation: number;
            /** @description The replica that decides. */
            leader?: string;
            /**
             * Format: int64
             * @description Things whose wait is over budget.
             */
            over_budget: number;
            /** @description The replica that answered. */
            replica: string;
            /** @description `sqlite` or `postgres`. */
            store_engine: string;
            /** @description Which store this is. */
            store_id: string;
        };
        /** @description What can be had of one pool. */
        PoolAvailabilityView: {
            /**
             * Format: int64
             * @description The largest slice that one node can give now.
             */
            largest_slice_gpus: number;
            /** @description Its short name. */
            pool: components["schemas"]["Slug"];
            /** @description The pool. */
            pool_id: components["schemas"]["PoolId"];
            /**
             * Format: int64
             * @description GPUs that can be had as slices now.
             */
            slice_gpus: number;
            /**
             * Format: int64
             * @description Whole nodes that can be had now.
             */
            whole_nodes: number;
        };
        /** @description A new pool. */
        PoolCreateBody: {
            /** @description The GPUs of its nodes. */
            gpu_model: components["schemas"]["GpuModel"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description The private addresses of its guests, such as `10.64.0.0/12`. Without it no address is suggested. */
            private_range?: components["schemas"]["Cidr"];
            /** @description The region it is in. */
            region_id: components["schemas"]["RegionId"];
            /**
             * @description Whether slices may be placed on its nodes; off unless said.
             * @default false
             */
            slices_enabled?: boolean;
            /** @description Short name, unique among pools. */
            slug: components["schemas"]["Slug"];
        };
        /** @example pol_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        PoolId: string;
        /** @description What may change about a pool. At least one field. */
        PoolUpdateBody: {
            /** @description Name for people. */
            name?: components["schemas"]["DisplayName"];
            /** @description The private addresses of its guests. Addresses that slots have already stay as they are. */
            private_range?: components["schemas"]["Cidr"];
            /** @description Whether slices may be placed on its nodes. */
            slices_enabled?: boolean;
        };
        /** @description A pool of nodes. */
        PoolView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description The GPUs of its nodes. */
            gpu_model: components["schemas"]["GpuModel"];
            /** @description Its id. */
            id: components["schemas"]["PoolId"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description The private addresses of its guests. */
            private_range?: components["schemas"]["Cidr"];
            /** @description The region it is in. */
            region_id: components["schemas"]["RegionId"];
            /** @description Whether slices may be placed on its nodes. */
            slices_enabled: boolean;
            /** @description Short name. */
            slug: components["schemas"]["Slug"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        PoolViewPage: {
            /** @description The items. */
            items: components["schemas"]["PoolView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** Format: int64 */
        Port: number;
        /** @description How much of a node can be had. Always derived, never stored. */
        Posture: "fully_available" | "partially_allocated" | "fully_allocated_by_slices" | "exclusively_allocated_by_baremetal" | "draining" | "cleanup_blocked" | "unavailable";
        /** @description Nodes of one posture. */
        PostureCount: {
            /**
             * Format: int64
             * @description How many nodes.
             */
            nodes: number;
            /** @description The posture. */
            posture: components["schemas"]["Posture"];
        };
        /** @description What a queue may take, and from whom. */
        Preemption: {
            /** @description The same while it borrows itself. */
            borrow_within_cohort?: components["schemas"]["BorrowWithinCohort"];
            /**
             * @description From those in its cohort that use more than their own.
             * @default never
             */
            reclaim_within_cohort?: components["schemas"]["Takes"];
            /**
             * @description From itself.
             * @default never
             */
            within_queue?: components["schemas"]["Takes"];
        };
        /** @example pmt_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        PreemptionId: string;
        /** @description What is told to a workload that has to go, in its event. */
        PreemptionNotice: {
            /** @description The queue of that one; absent when its own queue is being emptied. */
            by_queue?: components["schemas"]["Slug"];
            /** @description For whom; absent when its queue is being emptied, and where that one is another tenant's. */
            by_workload_id?: components["schemas"]["WorkloadId"];
            /**
             * Format: int64
             * @description How long guests may take to stop after that.
             */
            grace_s: number;
            /**
             * Format: int64
             * @description How long the notice is.
             */
            notice_s: number;
            /** @description The preemption. */
            preemption_id: components["schemas"]["PreemptionId"];
            /** @description Under which rule. */
            rule: components["schemas"]["PreemptionRule"];
            /** @description When its members are stopped, unless its work is saved before. */
            stop_at: components["schemas"]["Timestamp"];
        };
        /** @description The rule under which a workload is told to go. */
        PreemptionRule: "within_queue" | "reclaim" | "borrow_within_cohort" | "fair_share" | "drain";
        /** @description One time that a workload was told to go. */
        PreemptionView: {
            /** @description The queue of that one; absent when its own queue is being emptied. */
            by_queue?: components["schemas"]["Slug"];
            /** @description For whom; absent when its queue is being emptied, and where that one is another tenant's. */
            by_workload_id?: components["schemas"]["WorkloadId"];
            /** @description When its guest said that the work is saved. */
            checkpointed_at?: components["schemas"]["Timestamp"];
            /** @description When the last of them was gone. */
            gone_at?: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description How long guests may take to stop after that.
             */
            grace_s: number;
            /** @description Its id. */
            id: components["schemas"]["PreemptionId"];
            /**
             * Format: int64
             * @description How long the notice was.
             */
            notice_s: number;
            /** @description When it was told. */
            noticed_at: components["schemas"]["Timestamp"];
            /** @description Under which rule. */
            rule: components["schemas"]["PreemptionRule"];
            /** @description When its members are stopped, unless its work is saved before. */
            stop_at: components["schemas"]["Timestamp"];
            /** @description When its members were told to stop. */
            stopped_at?: components["schemas"]["Timestamp"];
        };
        /** @description Which price is the smaller one. */
        Preference: "borrowing_over_preemption" | "preemption_over_borrowing";
        /** @description An image to fetch. */
        PrefetchBody: {
            /** @description The image, by its name in the catalogue. */
            image_id: components["schemas"]["ImageName"];
        };
        /** Format: int64 */
        PreviousSecretS: number;
        /** Format: int64 */
        PriceMicrosPerGpuHour: number;
        /** @description What something costs, in millionths of the platform's currency. */
        PriceView: {
            /**
             * Format: int64
             * @description For all of it, a month of 730 hours.
             */
            micros_per_730_hours: number;
            /**
             * Format: int64
             * @description For one GPU and hour.
             */
            micros_per_gpu_hour: number;
            /**
             * Format: int64
             * @description For all of it, an hour.
             */
            micros_per_hour: number;
        };
        /** @example prn_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        PrincipalId: string;
        /** @description A person or a program. */
        PrincipalKind: "user" | "service_account";
        /** @description A person or service account. */
        PrincipalView: {
            /** @description Since when. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["PrincipalId"];
            /** @description Person or service account. */
            kind: components["schemas"]["PrincipalKind"];
            /** @description E-mail address or account name. */
            name: string;
            /** @description A role over the whole platform. */
            platform_role?: components["schemas"]["PlatformRole"];
            /** @description The tenant a service account belongs to. */
            tenant_id?: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        PrincipalViewPage: {
            /** @description The items. */
            items: components["schemas"]["PrincipalView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** Format: int64 */
        Priority: number;
        /** @description A priority by name. */
        PriorityClass: {
            /**
             * @description Whether it is for requests that name none; one at most.
             * @default false
             */
            default?: boolean;
            /**
             * @description Whether its work may have others stopped.
             * @default true
             */
            preempts?: boolean;
            /** @description Short name, for ever. */
            slug: components["schemas"]["Slug"];
            /** @description What goes first: more is more important. */
            value: components["schemas"]["Priority"];
        };
        /** @description An object of governance. */
        PriorityClassView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id, for its events. */
            id: components["schemas"]["GovernedId"];
            /** @description What it says. */
            spec: components["schemas"]["PriorityClass"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        PriorityClassViewPage: {
            /** @description The items. */
            items: components["schemas"]["PriorityClassView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /**
         * @description A refusal as `application/problem+json`. The request id is in the `X-Request-Id` header, so that two answers about the
         *     same fact are the same bytes.
         */
        Problem: {
            /** @description The stable code. */
            code: components["schemas"]["Code"];
            /** @description What happened this time. */
            detail: string;
            /** @description The fields that break a rule. */
            errors?: components["schemas"]["FieldError"][];
            /**
             * Format: uint32
             * @description How long to wait before that, in seconds.
             */
            retry_after_s?: number;
            /** @description Whether the same request may succeed later. */
            retryable: boolean;
            /**
             * Format: uint16
             * @description The HTTP status.
             */
            status: number;
            /** @description The same for every occurrence of the code. */
            title: string;
            /** @description Where the code is explained. */
            type: string;
        };
        /** @description How far a living thing has come, shared by every view of one. */
        ProgressView: {
            /** @description Present when the last attempt failed. */
            fault?: components["schemas"]["FaultView"];
            /** @description When the current execution state was entered. */
            since: components["schemas"]["Timestamp"];
            /** @description Why it waits, if it does. */
            wait?: components["schemas"]["WaitView"];
        };
        /** @description A new project. */
        ProjectCreateBody: {
            /** @description GPUs it may hold at once. */
            gpu_cap: components["schemas"]["GpuCap"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description Short name, unique in the tenant. */
            slug: components["schemas"]["Slug"];
        };
        /** @example prj_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        ProjectId: string;
        /** @description What may change about a project. At least one field. */
        ProjectUpdateBody: {
            /** @description GPUs it may hold at once. */
            gpu_cap?: components["schemas"]["GpuCap"];
            /** @description Name for people. */
            name?: components["schemas"]["DisplayName"];
        };
        /** @description A project. */
        ProjectView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What is wanted. */
            desired: components["schemas"]["TenancyDesired"];
            /** @description What its workflow is doing. */
            execution: components["schemas"]["TenancyState"];
            /**
             * Format: int64
             * @description GPUs it may hold at once.
             */
            gpu_cap: number;
            /** @description Its id. */
            id: components["schemas"]["ProjectId"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description What is in it. */
            observed: components["schemas"]["Holdings"];
            /** @description How far the workflow has come. */
            progress: components["schemas"]["ProgressView"];
            /** @description One sentence. */
            projected: string;
            /** @description Short name. */
            slug: components["schemas"]["Slug"];
            /** @description The tenant that owns it. */
            tenant_id: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        ProjectViewPage: {
            /** @description The items. */
            items: components["schemas"]["ProjectView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description What the quota of a workload is worth. */
        PromiseKind: "within_nominal" | "borrowing" | "zero_quota";
        /** @description A signed wipe proof. */
        Proof: {
            /**
             * @description The disk that was wiped, by the identity that was approved for the slot. Proofs from before it was named have none,
             *     and are of no use for a wipe that is still to be proved.
             */
            disk_identity?: string;
            /** @description The node that did it. */
            node_id: components["schemas"]["NodeId"];
            /** @description The control plane's challenge. */
            nonce: string;
            /** @description Ed25519 over [`Proof::signed_bytes`], in hexadecimal. */
            signature: string;
            /** @description The slot that was wiped. */
            slot_id: components["schemas"]["SlotId"];
            /** @description What was done. */
            steps: components["schemas"]["StepEvidence"][];
            /**
             * Format: int64
             * @description The use that ended.
             */
            use_generation: number;
        };
        /** @description What a proof is held against, one by one. */
        ProofCheck: "signature" | "node" | "slot" | "use" | "disk" | "nonce" | "steps";
        /** @description How one check went. */
        ProofCheckOutcome: {
            /** @description Which check. */
            check: components["schemas"]["ProofCheck"];
            /** @description What was expected and what was found, or that it holds. */
            detail: string;
            /** @description Whether it holds. */
            ok: boolean;
        };
        /** @description Why a proof does not prove anything. */
        ProofFault: "wrong_subject" | "wrong_generation" | "wrong_disk" | "wrong_nonce" | "step_failed" | "step_missing" | "bad_signature";
        /** @example prf_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        ProofId: string;
        /** @description One line of the history of a slot's proofs. */
        ProofSummary: {
            /** @description What does not hold, in a sentence; empty when everything does. */
            detail?: string;
            /** @description Whether every check holds now. */
            holds: boolean;
            /** @description Its id. */
            id: components["schemas"]["ProofId"];
            /** @description How the disk was erased, as far as the evidence names it. */
            method: components["schemas"]["EraseMethod"];
            /** @description When it came in. */
            received_at: components["schemas"]["Timestamp"];
            /** @description Why it was refused when it came in; absent when it was taken. */
            refused?: components["schemas"]["ProofFault"];
            /**
             * Format: int64
             * @description The use it was asked for.
             */
            use_generation: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        ProofSummaryPage: {
            /** @description The items. */
            items: components["schemas"]["ProofSummary"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description A proof that was received, with what it is worth now. */
        ProofView: {
            /** @description Every check by name. */
            checks: components["schemas"]["ProofCheckOutcome"][];
            /** @description What it had to be about. */
            expected: components["schemas"]["ExpectedProof"];
            /** @description Whether every check holds now. */
            holds: boolean;
            /** @description Its id. */
            id: components["schemas"]["ProofId"];
            /** @description The node that gave it. */
            node_id: components["schemas"]["NodeId"];
            /** @description SHA-256 of that key, in hexadecimal. */
            node_key_fingerprint: string;
            /** @description The public key that the node had then, in hexadecimal. */
            node_public_key: string;
            /** @description The proof as it was received: every step with its evidence, and the signature. */
            proof: components["schemas"]["Proof"];
            /** @description When it came in. */
            received_at: components["schemas"]["Timestamp"];
            /** @description Why it was refused when it came in; absent when it was taken. */
            refused?: components["schemas"]["ProofFault"];
            /** @description The slot. */
            slot_id: components["schemas"]["SlotId"];
            /**
             * Format: int64
             * @description The use it was asked for.
             */
            use_generation: number;
        };
        /** @description Every provider. */
        ProviderListView: {
            /** @description The providers, by name. */
            items: components["schemas"]["ProviderView"][];
        };
        /** @description A provider of machines that the control plane was started with. */
        ProviderView: {
            /** @description Where it is. */
            address: string;
            /** @description What the last look ran into; absent when it went well. */
            fault?: string;
            /** @description When that was. */
            fault_at?: components["schemas"]["Timestamp"];
            /** @description What it is, such as `maas`. */
            kind: string;
            /** @description Its name: nodes say `name/machine`. */
            name: string;
            /** @description When all its machines were last looked at. */
            synced_at?: components["schemas"]["Timestamp"];
        };
        /**
         * @description one line of 1 to 4096 printable ASCII characters: the kind of key, the key, and perhaps a comment
         * @example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ ada
         */
        PublicKeyLine: string;
        /** Format: int64 */
        Quantity: number;
        /** @description All queues and cohorts as they stand. */
        QueueUseList: {
            /** @description Cohorts first, each kind by name. */
            items: components["schemas"]["QueueUseView"][];
        };
        /** @description A queue or cohort as it stands. */
        QueueUseView: {
            /** @description Whether it is a queue; else it is a cohort. */
            is_queue: boolean;
            /** @description The cohort above it. */
            parent?: components["schemas"]["Slug"];
            /** @description Resource by resource. */
            quotas: components["schemas"]["QuotaUseView"][];
            /**
             * Format: int64
             * @description Workloads that hold quota here.
             */
            running: number;
            /**
             * Format: int64
             * @description How far it lives beyond its own, in thousandths of what could be lent to it, divided by its weight.
             */
            share_per_mille: number;
            /** @description Its short name. */
            slug: components["schemas"]["Slug"];
            /**
             * Format: int64
             * @description Workloads that wait here.
             */
            waiting: number;
        };
        /** @description What there is of one resource in one flavor. */
        Quota: {
            /** @description What it may borrow beyond its own; whatever the cohort has when absent. */
            borrowing_limit?: components["schemas"]["Quantity"];
            /** @description What of its own it lends at most; all of it when absent. */
            lending_limit?: components["schemas"]["Quantity"];
            /** @description Its own. */
            nominal: components["schemas"]["Quantity"];
            /**
             * @description What is counted; GPUs unless said.
             * @default gpu
             */
            resource?: components["schemas"]["Slug"];
        };
        /** @description How much of one resource in one flavor a queue or cohort has and uses. */
        QuotaUseView: {
            /**
             * Format: int64
             * @description What it could still use now without anybody going.
             */
            available: number;
            /**
             * Format: int64
             * @description What of that is beyond its own.
             */
            borrowed: number;
            /** @description The flavor. */
            flavor: string;
            /**
             * Format: int64
             * @description What others use of its own.
             */
            lent: number;
            /**
             * Format: int64
             * @description Its own, now.
             */
            nominal: number;
            /** @description The resource. */
            resource: string;
            /**
             * Format: int64
             * @description What it uses; for a cohort, what its members use beyond what they keep to themselves.
             */
            used: number;
        };
        /** @description Every check, in a fixed order. */
        Readiness: {
            /** @description One for each [`ReadinessCheckName`]. */
            checks: components["schemas"]["ReadinessCheck"][];
            /** @description Whether putting it right takes a reboot. */
            reboot_required: boolean;
        };
        /** @description One check. */
        ReadinessCheck: {
            /** @description What was checked. */
            check: components["schemas"]["ReadinessCheckName"];
            /** @description What was found. */
            detail: string;
            /** @description Whether that takes a reboot. */
            reboot_required: boolean;
            /** @description What to do, unless it is fine. */
            remedy?: string;
            /** @description Whether slices need it. */
            required: boolean;
            /** @description How it came out. */
            state: components["schemas"]["ReadinessState"];
        };
        /** @description What is checked. */
        ReadinessCheckName: "gpus" | "gpu_driver" | "fabric_manager" | "iommu" | "vfio" | "sriov" | "disk_state" | "hugepages" | "libvirt" | "uefi_firmware" | "ovs" | "cloud_init_tools" | "rdma_tools" | "image_cache" | "secure_boot" | "pending_reboot";
        /** @description How a check came out. */
        ReadinessState: "ok" | "missing" | "unknown";
        /** @description Whether a node is ready for slices. */
        ReadinessView: {
            /** @description When this was seen. */
            at: components["schemas"]["Timestamp"];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /** @description The list. */
            readiness: components["schemas"]["Readiness"];
        };
        /**
         * @description Why a node was passed over. Each node has exactly one: the first that holds, in this order. The last four hold only
         *     where the capacity is there, so they say how much a request shut itself out of.
         */
        Reason: "other_region" | "other_gpu_model" | "other_pool" | "slices_disabled" | "out_of_use" | "draining" | "not_promoted" | "not_online" | "held_as_bare_metal" | "held_by_slices" | "no_such_set" | "drifted" | "incomplete" | "cleanup_blocked" | "being_wiped" | "too_few_free" | "free_but_scattered" | "kept_whole" | "co_tenancy" | "same_group" | "not_with_group";
        /** @description What somebody wants of a node, with the reason. */
        ReasonBody: {
            /** @description Why; shown to other operators. */
            reason: components["schemas"]["Note"];
        };
        /** @description What a comparison of a host with its claims found. */
        ReconcileReport: {
            /** @description What was not as it should be, in a fixed order; empty is good. */
            findings: components["schemas"]["Finding"][];
            /** @description The guests that are there. */
            guests: components["schemas"]["GuestStanding"][];
        };
        /** @description What was not as it should be when a node was compared with its claims. */
        ReconcileReportView: {
            /** @description When it came in. */
            at: components["schemas"]["Timestamp"];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /** @description What the host said. */
            report: components["schemas"]["ReconcileReport"];
            /** @description The order that asked for it. */
            task_id: components["schemas"]["TaskId"];
        };
        /**
         * @description 1 to 200 printable ASCII characters and inner spaces
         * @example tenant_create
         */
        RecordedName: string;
        /** @description What was kept of what a console printed. */
        RecordingView: {
            /**
             * Format: int64
             * @description How many bytes.
             */
            bytes: number;
            /** @description Whether more was printed than is kept of one stream. */
            cut: boolean;
            /** @description Their SHA-256 in hexadecimal; the audit trail has the same. */
            sha256: string;
        };
        /** @description One reason against a slot. */
        Refusal: {
            /** @description What would be accepted. */
            accepted: string;
            /** @description What is wrong. */
            detail: string;
            /** @description What it is about. */
            field: components["schemas"]["SlotField"];
            /** @description The rule that is broken. */
            rule: components["schemas"]["ApprovalRule"];
        };
        /** @description A new region. */
        RegionCreateBody: {
            /** @description Whether anything can be launched there. A disabled region is shown and cannot be chosen. */
            enabled: boolean;
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description Short name, unique among regions. */
            slug: components["schemas"]["Slug"];
        };
        /** @example rgn_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        RegionId: string;
        /** @description What may change about a region. At least one field. */
        RegionUpdateBody: {
            /** @description Whether anything can be launched there. */
            enabled?: boolean;
            /** @description Name for people. */
            name?: components["schemas"]["DisplayName"];
        };
        /** @description A region. */
        RegionView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Whether anything can be launched there. */
            enabled: boolean;
            /** @description Its id. */
            id: components["schemas"]["RegionId"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description Short name. */
            slug: components["schemas"]["Slug"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        RegionViewPage: {
            /** @description The items. */
            items: components["schemas"]["RegionView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description Flavors that can stand in for each other, the best first. All have quota in the same resources. */
        ResourceGroup: {
            /** @description The flavors, the best first, each once in all groups. */
            flavors: components["schemas"]["FlavorQuotas"][];
        };
        /** @description Whose word it is that a slot is not as it was approved. */
        SaidBy: "discovery" | "plan" | "reconcile";
        /** @description What speaks against a place, part by part. */
        Score: {
            /**
             * Format: int64
             * @description The weighted sum; smaller is better.
             */
            cost: number;
            /**
             * Format: uint32
             * @description Memory nodes beyond the first.
             */
            numa?: number;
            /**
             * Format: uint32
             * @description For a slice 1 if it opens a clean node; for bare metal 2 if the node could be sliced, 1 if its pool allows that.
             */
            opens?: number;
            /**
             * Format: uint32
             * @description GPUs that share a rail.
             */
            rails?: number;
            /**
             * Format: int64
             * @description What larger sets lose, weighted.
             */
            spoils?: number;
            /**
             * Format: uint32
             * @description PCIe switches beyond the first.
             */
            switches?: number;
        };
        /** @description What happens to the search for a flavor when one would do at a price. */
        Search: "may_stop_search" | "try_next_flavor";
        /** @description A new service account. */
        ServiceAccountCreateBody: {
            /** @description Short name, unique in the tenant. */
            name: components["schemas"]["Slug"];
        };
        /** @description A token to sign in with. */
        SessionCreateBody: {
            /** @description The token's secret. */
            token: components["schemas"]["TokenSecret"];
        };
        /** @example ses_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        SessionId: string;
        /** @description A session and whose it is. */
        SessionView: {
            /** @description When it began. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What to send as `X-CSRF-Token` with requests that change something. */
            csrf_token: string;
            /** @description When it ends in any case. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["SessionId"];
            /** @description When it ends unless it is used. */
            idle_expires_at: components["schemas"]["Timestamp"];
            /** @description Who is signed in, and what they may do. */
            who: components["schemas"]["WhoamiView"];
        };
        /** @description What kind of set was chosen. */
        SetKind: "single" | "pair" | "half_board" | "whole_board" | "set";
        /** @description How people can sign in here. */
        SignInView: {
            /** @description Through an identity provider, where there is one. */
            oidc?: components["schemas"]["OidcWayView"];
            /** @description With a token. */
            token: boolean;
        };
        /** @description What a change would do to everything that waits and runs now, by the engine that would do it. Nothing was touched. */
        SimulationView: {
            /** @description Who would be treated otherwise than without the change, by id. */
            effects: components["schemas"]["EffectView"][];
            /** @description The queues and cohorts as they would stand then. */
            queues: components["schemas"]["QueueUseView"][];
            /**
             * Format: int64
             * @description How many would start.
             */
            starts: number;
            /**
             * Format: int64
             * @description How many would have to go.
             */
            stops: number;
        };
        /**
         * @description a path that starts with one slash, of letters, digits and ._~%&=?+:@,;/-
         * @example /nodes
         */
        SitePath: string;
        /** @description What of a SKU would find a place now. */
        SkuAvailabilityView: {
            /** @description The counts that would find a place now. */
            gpu_counts: number[];
            /** @description Its short name. */
            sku: components["schemas"]["Slug"];
            /** @description The SKU. */
            sku_id: components["schemas"]["SkuId"];
        };
        /** @description A new SKU. A slice is sold in sets that a board can be cut into. What goes with a GPU is said by a profile, for slices, or in numbers. */
        SkuCreateBody: {
            /** @description How many GPUs one allocation may have: 1 to 8 different counts. */
            gpu_counts: components["schemas"]["GpuCount"][];
            /** @description The GPUs it is made of. */
            gpu_model: components["schemas"]["GpuModel"];
            /** @description Memory per GPU, unless a profile says it. */
            memory_mib_per_gpu?: components["schemas"]["MemoryMibPerGpu"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description Price. */
            price_micros_per_gpu_hour: components["schemas"]["PriceMicrosPerGpuHour"];
            /** @description What each slot is made of, by the short name of a profile; for slices only. */
            profile?: components["schemas"]["Slug"];
            /**
             * @description The form it is sold in; a whole node unless said.
             * @default baremetal
             */
            shape?: components["schemas"]["CapacityShape"];
            /** @description Short name, unique among SKUs. */
            slug: components["schemas"]["Slug"];
            /** @description Virtual CPUs per GPU, unless a profile says it. */
            vcpus_per_gpu?: components["schemas"]["VcpusPerGpu"];
        } & (unknown & unknown);
        /** @example sku_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        SkuId: string;
        /** @description What may change about a SKU. At least one field. What is already running keeps the terms it was launched with. */
        SkuUpdateBody: {
            /** @description Whether it can be launched. */
            enabled?: boolean;
            /** @description Name for people. */
            name?: components["schemas"]["DisplayName"];
            /** @description Price for new launches. */
            price_micros_per_gpu_hour?: components["schemas"]["PriceMicrosPerGpuHour"];
        };
        /** @description Something that is sold. */
        SkuView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Whether it can be launched. */
            enabled: boolean;
            /** @description How many GPUs one allocation may have. */
            gpu_counts: components["schemas"]["GpuCount"][];
            /** @description The GPUs it is made of. */
            gpu_model: components["schemas"]["GpuModel"];
            /** @description Its id. */
            id: components["schemas"]["SkuId"];
            /**
             * Format: int64
             * @description Memory per GPU.
             */
            memory_mib_per_gpu: number;
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /**
             * Format: int64
             * @description Price.
             */
            price_micros_per_gpu_hour: number;
            /** @description What each slot is made of, where a profile says it. */
            profile?: components["schemas"]["Slug"];
            /** @description The form it is sold in. */
            shape: components["schemas"]["CapacityShape"];
            /** @description Short name. */
            slug: components["schemas"]["Slug"];
            /**
             * Format: int64
             * @description Virtual CPUs per GPU.
             */
            vcpus_per_gpu: number;
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        SkuViewPage: {
            /** @description The items. */
            items: components["schemas"]["SkuView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description A slot to approve: the devices of one bundle, named by a person. What is left out is missing, and the slot stays `disabled`. */
        SlotApproveBody: {
            /** @description How it takes part in the fabric. */
            fabric_claim_mode: components["schemas"]["FabricClaimMode"];
            /** @description Where its fabric function is. */
            fabric_vf_pci_address?: components["schemas"]["DeviceName"];
            /** @description Where its GPU is. Only a laboratory's slots have none. */
            gpu_pci_address?: components["schemas"]["DeviceName"];
            /** @description The guest's management interface. */
            mgmt_mac?: components["schemas"]["DeviceName"];
            /** @description Its disk, by its own identity. */
            nvme_identity?: components["schemas"]["DeviceName"];
            /** @description The guest's address. */
            private_ip?: components["schemas"]["DeviceName"];
        };
        /** @description A slot as one cell of a map of the fleet: little enough that thousands fit in a few pages. */
        SlotCellView: {
            /** @description Who holds it now, by itself or with its whole node. */
            allocation_id?: components["schemas"]["AllocationId"];
            /** @description Whether its host shows something else than what was approved; then it is not for sale. */
            drifted: boolean;
            /** @description What its workflow is doing. */
            execution: components["schemas"]["SlotState"];
            /**
             * Format: int64
             * @description Its GPU's place on the board.
             */
            gpu_module_id?: number;
            /** @description Its id. */
            id: components["schemas"]["SlotId"];
            /** @description Its node. */
            node_id: components["schemas"]["NodeId"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        SlotCellViewPage: {
            /** @description The items. */
            items: components["schemas"]["SlotCellView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description The slots of the nodes that were asked about (region, model, pool), each counted once. */
        SlotCounts: {
            /**
             * Format: uint32
             * @description Somebody's.
             */
            claimed: number;
            /**
             * Format: uint32
             * @description Waiting for the proof of a wipe.
             */
            cleanup_blocked: number;
            /**
             * Format: uint32
             * @description Not approved, or taken out.
             */
            disabled: number;
            /**
             * Format: uint32
             * @description Not as approved.
             */
            drifted: number;
            /**
             * Format: uint32
             * @description Can be sold, as far as the slot itself goes.
             */
            free: number;
            /**
             * Format: uint32
             * @description With a device or its GPU unknown.
             */
            incomplete: number;
            /**
             * Format: uint32
             * @description Being wiped.
             */
            wiping: number;
        };
        /** @description The devices of one slot, as far as they are known. */
        SlotDevices: {
            /** @description How the slot takes part in the fabric. */
            fabric_claim_mode: components["schemas"]["FabricClaimMode"];
            /** @description The fabric function. */
            fabric_vf_pci_address?: string;
            /** @description Which GPU of the board it is. */
            gpu_module_id?: components["schemas"]["ModuleId"];
            /** @description Where the GPU sits on the PCI bus. */
            gpu_pci_address?: string;
            /** @description The guest's management interface. */
            mgmt_mac?: string;
            /**
             * Format: uint32
             * @description The memory node the GPU hangs off.
             */
            numa_node?: number;
            /** @description The drive that goes with the GPU, by its own identity rather than by where it is plugged. */
            nvme_identity?: string;
            /** @description The guest's address. */
            private_ip?: string;
        };
        /** @description What a refusal or a drift is about: a device of the slot, something measured of it, or the node as a whole. */
        SlotField: "node" | "gpu_pci_address" | "gpu_module_id" | "gpu_uuid" | "gpu_driver" | "gpu_link" | "nvme_identity" | "mgmt_mac" | "private_ip" | "fabric_claim_mode" | "fabric_vf_pci_address" | "numa_node";
        /** @example slt_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        SlotId: string;
        /** Format: int64 */
        SlotPageSize: number;
        /** @description A new slot profile. */
        SlotProfileCreateBody: {
            /** @description The GPU of its slots. */
            gpu_model: components["schemas"]["GpuModel"];
            /** @description The size of the huge pages that memory is made of: 2048 or 1048576; ordinary pages when absent. */
            hugepage_kib?: components["schemas"]["HugepageKib"];
            /** @description Memory of one slot. */
            memory_mib: components["schemas"]["MemoryMibPerGpu"];
            /** @description The smallest disk that a slot may have; any when absent. */
            min_disk_bytes?: components["schemas"]["MinDiskBytes"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description Short name, unique among profiles; slots and SKUs refer to it. */
            slug: components["schemas"]["Slug"];
            /** @description Virtual CPUs of one slot. */
            vcpus: components["schemas"]["VcpusPerGpu"];
        };
        /** @description What may change about a slot profile. At least one field. SKUs made of it follow; what is already running keeps the terms it was launched with. */
        SlotProfileUpdateBody: {
            /** @description The size of the huge pages that memory is made of: 2048 or 1048576. */
            hugepage_kib?: components["schemas"]["HugepageKib"];
            /** @description Memory of one slot. */
            memory_mib?: components["schemas"]["MemoryMibPerGpu"];
            /** @description The smallest disk that a slot may have. Slots that were approved before stay as they are. */
            min_disk_bytes?: components["schemas"]["MinDiskBytes"];
            /** @description Name for people. */
            name?: components["schemas"]["DisplayName"];
            /** @description Virtual CPUs of one slot. */
            vcpus?: components["schemas"]["VcpusPerGpu"];
        };
        /** @description What one slot of a kind is made of besides its GPU. */
        SlotProfileView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description The GPU of its slots. */
            gpu_model: components["schemas"]["GpuModel"];
            /**
             * Format: int64
             * @description The size of the huge pages that memory is made of; ordinary pages when absent.
             */
            hugepage_kib?: number;
            /**
             * Format: int64
             * @description Memory of one slot.
             */
            memory_mib: number;
            /**
             * Format: int64
             * @description The smallest disk that a slot may have.
             */
            min_disk_bytes: number;
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description Whether a slot must have a function of the fabric; only a laboratory's need none. */
            needs_fabric: boolean;
            /** @description Whether a slot must have a GPU; only a laboratory's need none. */
            needs_gpu: boolean;
            /** @description Short name, by which everything refers to it. */
            slug: components["schemas"]["Slug"];
            /**
             * Format: int64
             * @description Virtual CPUs of one slot.
             */
            vcpus: number;
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        SlotProfileViewPage: {
            /** @description The items. */
            items: components["schemas"]["SlotProfileView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description Where a slot stands between being sold and being sold again. */
        SlotState: "disabled" | "available" | "reserved" | "in_use" | "wiping" | "cleanup_blocked";
        /** @description An approved bundle of devices. */
        SlotView: {
            /** @description When. */
            approved_at?: components["schemas"]["Timestamp"];
            /** @description Who approved it. */
            approved_by?: string;
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What the host shows now that is not as approved; empty means nothing. A drifted slot is not for sale. */
            drift: components["schemas"]["DriftView"][];
            /** @description What its workflow is doing. */
            execution: components["schemas"]["SlotState"];
            /** @description How it takes part in the fabric. */
            fabric_claim_mode: components["schemas"]["FabricClaimMode"];
            /** @description Where its fabric function is. */
            fabric_vf_pci_address?: string;
            /**
             * Format: int64
             * @description Its GPU's place on the board.
             */
            gpu_module_id?: number;
            /** @description Where its GPU is. */
            gpu_pci_address?: string;
            /** @description More about that. */
            health_detail: string;
            /** @description `clean`, or what is wrong. */
            health_state: string;
            /** @description Its id. */
            id: components["schemas"]["SlotId"];
            /** @description Its management address. */
            mgmt_mac?: string;
            /** @description Its node. */
            node_id: components["schemas"]["NodeId"];
            /**
             * Format: int64
             * @description Its NUMA node.
             */
            numa_node?: number;
            /** @description Its disk. */
            nvme_identity?: string;
            /** @description Its private address. */
            private_ip?: string;
            /** @description What one slot of it gets. */
            profile: string;
            /** @description How far the workflow has come. */
            progress: components["schemas"]["ProgressView"];
            /** @description One sentence. */
            projected: string;
            /**
             * Format: int64
             * @description How many times it has been used.
             */
            use_generation: number;
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
            /** @description What would end it, when there is no valid proof that the slot is clean. */
            ways_out?: string[];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        SlotViewPage: {
            /** @description The items. */
            items: components["schemas"]["SlotView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /**
         * @description 1 to 40 lower-case letters, digits and hyphens, starting with a letter and ending with a letter or digit
         * @example acme
         */
        Slug: string;
        /** Format: int64 */
        SpeedMilli: number;
        /** @description How the allocations of one group of a project lie to each other. One scale, from far apart to together. */
        Spread: "require" | "prefer" | "none" | "near" | "same_node";
        /** @description A key to add. */
        SshKeyCreateBody: {
            /** @description A name for it, unique in the project. */
            name: components["schemas"]["Slug"];
            /** @description The key as it stands in a `.pub` file: Ed25519, ECDSA, RSA of at least 2048 bits, or one on a security key; no options. */
            public_key: components["schemas"]["PublicKeyLine"];
        };
        /** @example ssh_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        SshKeyId: string;
        /** @description A public key. */
        SshKeyView: {
            /** @description When it was added. */
            created_at: components["schemas"]["Timestamp"];
            /** @description SHA-256 of the key, as `ssh-keygen -l` shows it. */
            fingerprint: string;
            /** @description Its id. */
            id: components["schemas"]["SshKeyId"];
            /** @description Its name. */
            name: components["schemas"]["Slug"];
            /** @description The project it belongs to. */
            project_id: components["schemas"]["ProjectId"];
            /** @description The key in one line. */
            public_key: string;
            /** @description The tenant it belongs to. */
            tenant_id: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        SshKeyViewPage: {
            /** @description The items. */
            items: components["schemas"]["SshKeyView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description An allocation that stays on a node until its owner gives it back. */
        StayingView: {
            /** @description The allocation. */
            allocation_id: components["schemas"]["AllocationId"];
            /**
             * Format: int64
             * @description How many GPUs.
             */
            gpu_count: number;
            /** @description In which project. */
            project_id: components["schemas"]["ProjectId"];
            /** @description The same in a sentence. */
            projected: string;
            /** @description Why it stays. */
            reason: components["schemas"]["StayReason"];
            /** @description Whose it is. */
            tenant_id: components["schemas"]["TenantId"];
        };
        /** @description Why an allocation stays on a node that is evacuated. */
        StayReason: "no_consent" | "no_other_place";
        /** @description A step that would let a refused request in. */
        Step: "release" | "wipe_proof" | "wipe_ends" | "approve_drift" | "complete_slots" | "undrain" | "enable" | "promote" | "agent_returns" | "enable_slices" | "other_pool" | "keep_fewer_whole" | "share" | "allow_same_node" | "allow_other_nodes";
        /** @description One step with its evidence. A step without `ok` counts as not done. */
        StepEvidence: {
            /** @description What was seen, for people. */
            evidence: string;
            /** @description Whether it was done and verified. */
            ok: boolean;
            /** @description Which step. */
            step: components["schemas"]["WipeStep"];
        };
        /** @description Whether a queue is stopped. */
        Stop: "none" | "hold" | "hold_and_drain";
        /** @description How a stream ended. */
        StreamEnding: "closed" | "broken" | "not_opened" | "host_refused" | "client_gone" | "half_open" | "allocation_ended" | "token_ended" | "role_lost" | "tenant_suspended" | "node_revoked" | "unconfirmed" | "recording_failed" | "replica_stopped" | "replica_lost";
        /** @example str_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        StreamId: string;
        /** @description What a stream to a guest carries. */
        StreamKind: "ssh" | "console";
        /** @description Where a stream stands. */
        StreamState: "wanted" | "open" | "ended";
        /** @description A stream. */
        StreamView: {
            /** @description To whose guest. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description When it ended. */
            ended_at?: components["schemas"]["Timestamp"];
            /** @description How it ended. */
            ended_how?: components["schemas"]["StreamEnding"];
            /** @description From which address. */
            from: string;
            /**
             * Format: int64
             * @description Bytes from the guest; known when it has ended.
             */
            from_guest_bytes: number;
            /** @description Its id. */
            id: components["schemas"]["StreamId"];
            /** @description What it carries. */
            kind: components["schemas"]["StreamKind"];
            /** @description When the host opened it. */
            opened_at?: components["schemas"]["Timestamp"];
            /** @description Who asked for it. */
            opened_by: components["schemas"]["PrincipalId"];
            /** @description The project that holds it. */
            project_id: components["schemas"]["ProjectId"];
            /** @description What was recorded of a console; known when it has ended. */
            recording?: components["schemas"]["RecordingView"];
            /** @description Where it stands. */
            state: components["schemas"]["StreamState"];
            /** @description The tenant that holds it. */
            tenant_id: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Bytes to the guest; known when it has ended.
             */
            to_guest_bytes: number;
            /** @description When it was asked for. */
            wanted_at: components["schemas"]["Timestamp"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        StreamViewPage: {
            /** @description The items. */
            items: components["schemas"]["StreamView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description What waits, most overdue first. */
        StuckList: {
            /** @description At most 200. */
            items: components["schemas"]["StuckView"][];
        };
        /** @description Something that waits. */
        StuckView: {
            /** @description What it waits for and what would end it. */
            because: string;
            /** @description A stable code. */
            code: string;
            /** @description The state it is in. */
            execution: string;
            /** @description What kind of thing. */
            noun: components["schemas"]["Noun"];
            /** @description Since when it is in this state. */
            since: components["schemas"]["Timestamp"];
            /** @description The line of source that decided to wait. */
            source: string;
            /** @description Which. */
            subject_id: string;
            /** @description When the wait is, or was, over budget. */
            until: components["schemas"]["Timestamp"];
        };
        /** @description What is suggested for one slot. */
        Suggestion: {
            /** @description For the guest's management interface. */
            mgmt_mac: string;
            /** @description The bridge that the node's guests are connected to. */
            ovs_bridge: string;
            /** @description The guest's port on it. */
            ovs_port: string;
            /** @description For the guest. */
            private_ip?: string;
            /** @description Why there is no address. */
            private_ip_missing?: string;
            /**
             * Format: uint8
             * @description The slot's number on its node.
             */
            slot_number: number;
        };
        /** @description What keeps work away that does not say that it puts up with it. */
        Taint: {
            /** @description What it does. */
            effect: components["schemas"]["TaintEffect"];
            /** @description Its name. */
            key: components["schemas"]["LabelKey"];
            /** @description More precisely. */
            value?: components["schemas"]["LabelValue"];
        };
        /** @description What a taint does to work that does not put up with it. */
        TaintEffect: "no_schedule" | "prefer_no_schedule" | "no_execute";
        /** @description Whose work may be stopped. */
        Takes: "never" | "lower_priority" | "lower_or_newer_equal_priority" | "any";
        /** @description Whose work may be stopped by a queue that itself borrows. */
        TakesWhileBorrowing: "never" | "lower_priority";
        /** @description Why an agent could not do what it was asked. */
        TaskFailure: "stale_fence" | "wrong_node" | "unknown_kind" | "not_readable" | "report_refused" | "plan_refused" | "image_refused" | "provision_failed" | "reconcile_failed" | "guest_not_gone" | "notice_failed" | "machine_failed" | "machine_drifted";
        /** @example tsk_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        TaskId: string;
        /** @description The closed list of orders. */
        TaskKind: "slice.vm_provision" | "slice.vm_release" | "slice.vm_notice" | "slice.plan" | "slice.reconcile" | "image.prefetch" | "slice.topology_discover" | "node.readiness" | "machine.deploy" | "machine.reclaim";
        /** @description Where an order stands. */
        TaskState: "pending" | "delivered" | "succeeded" | "failed" | "expired";
        /** @description An order to a node's agent. */
        TaskView: {
            /** @description The allocation it serves; none when it is about the host itself. */
            allocation_id?: components["schemas"]["AllocationId"];
            /**
             * Format: int64
             * @description Which try.
             */
            attempt: number;
            /** @description When it was written down. */
            created_at: components["schemas"]["Timestamp"];
            /** @description When the control plane stops waiting. */
            deadline: components["schemas"]["Timestamp"];
            /** @description Where it stands. */
            execution: components["schemas"]["TaskState"];
            /** @description Why it could not be done, as a word. */
            failure?: components["schemas"]["TaskFailure"];
            /** @description The same as the host put it. */
            failure_detail?: string;
            /** @description Its id. */
            id: components["schemas"]["TaskId"];
            /** @description What to do. */
            kind: components["schemas"]["TaskKind"];
            /** @description The node. */
            node_id: components["schemas"]["NodeId"];
            /** @description How far the workflow has come. */
            progress: components["schemas"]["ProgressView"];
            /** @description One sentence. */
            projected: string;
            /** @description What stood against it, check by check, when it was refused before anything was made. */
            refusals?: components["schemas"]["HostRefusal"][];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        TaskViewPage: {
            /** @description The items. */
            items: components["schemas"]["TaskView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description What the owner or operator wants a tenant or project to be. */
        TenancyDesired: "active" | "suspended" | "deleted";
        /** @description Where the workflow of a tenant or project stands. */
        TenancyState: "creating" | "active" | "suspended" | "deleting" | "deleted";
        /** @description A new tenant. */
        TenantCreateBody: {
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description Short name, unique among tenants. */
            slug: components["schemas"]["Slug"];
        };
        /** @example tnt_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        TenantId: string;
        /** @description What may change about a tenant. */
        TenantUpdateBody: {
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
        };
        /** @description A tenant. */
        TenantView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What is wanted. */
            desired: components["schemas"]["TenancyDesired"];
            /** @description What its workflow is doing. */
            execution: components["schemas"]["TenancyState"];
            /** @description Its id. */
            id: components["schemas"]["TenantId"];
            /** @description Name for people. */
            name: components["schemas"]["DisplayName"];
            /** @description What is in it. */
            observed: components["schemas"]["Holdings"];
            /** @description How far the workflow has come. */
            progress: components["schemas"]["ProgressView"];
            /** @description One sentence. */
            projected: string;
            /** @description Short name. */
            slug: components["schemas"]["Slug"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        TenantViewPage: {
            /** @description The items. */
            items: components["schemas"]["TenantView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description One entry of a timeline. */
        TimelineEntry: {
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Which try, where an order can be repeated.
             */
            attempt?: number;
            /**
             * Format: uint64
             * @description How fast, where bytes are moved.
             */
            bytes_per_s?: number;
            /** @description The same in a sentence. */
            detail: string;
            /** @description When it will be done if it goes on like this. */
            eta?: components["schemas"]["Timestamp"];
            /**
             * Format: uint8
             * @description How far it has come.
             */
            percent?: number;
            /**
             * Format: int64
             * @description Its place; pass it as `after` or `Last-Event-ID` to go on behind it.
             */
            position: number;
            /** @description Where the step stands. */
            state: components["schemas"]["TimelineState"];
            /** @description Which step. */
            step: components["schemas"]["TimelineStep"];
        };
        /** @description A run of entries. */
        TimelinePage: {
            /** @description Whether nothing more will come. */
            ended: boolean;
            /** @description The entries, oldest first. The last one may be the step that is under way. */
            items: components["schemas"]["TimelineEntry"][];
            /** @description Whether there is more to read now. */
            more: boolean;
            /**
             * Format: int64
             * @description Pass this as `after` to go on.
             */
            next_after: number;
        };
        /** @description Where a step stands. */
        TimelineState: "begun" | "progress" | "done" | "failed";
        /** @description A step on the way of an allocation. */
        TimelineStep: "admission" | "placement" | "order" | "image" | "plan" | "host_lease" | "clone" | "verify" | "seed" | "devices" | "network" | "boot" | "lease_seen" | "ssh_ready" | "running" | "lease" | "notice" | "release_wanted" | "stopping" | "machine_free" | "machine_install" | "machine_enroll" | "machine_look" | "wiping" | "proof" | "released";
        /**
         * Format: date-time
         * @description RFC 3339 time in UTC with milliseconds.
         * @example 2026-01-31T12:00:00.000Z
         */
        Timestamp: string;
        /** @description A new token. */
        TokenCreateBody: {
            /** @description How long it lives. */
            lifetime_s: components["schemas"]["TokenLifetimeS"];
            /** @description What it is for. */
            name: components["schemas"]["DisplayName"];
            /**
             * @description Whose it is; the caller's own when absent. A tenant administrator may make tokens for members and service accounts of
             *     the tenant; such a token works in that tenant only.
             */
            principal_id?: components["schemas"]["PrincipalId"];
            /** @description Restrict it to one project. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description How far it reaches. */
            scope: components["schemas"]["TokenScope"];
            /** @description Restrict it to one tenant. */
            tenant_id?: components["schemas"]["TenantId"];
        };
        /** @description A new token with its secret, which is shown this once and stored only as a hash. */
        TokenCreatedView: {
            /** @description What to send as `Authorization: Bearer …`. */
            secret: string;
            /** @description The token. */
            token: components["schemas"]["TokenView"];
        };
        /** @example tok_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        TokenId: string;
        /** Format: int64 */
        TokenLifetimeS: number;
        /** @description How far a token may be used, whatever its owner may do. */
        TokenScope: "read" | "write";
        /**
         * @description gpuaas_ and 43 letters, digits, hyphens and underscores
         * @example gpuaas_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
         */
        TokenSecret: string;
        /** @description A token, without its secret. */
        TokenView: {
            /** @description When it was made. */
            created_at: components["schemas"]["Timestamp"];
            /** @description When it stops working. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["TokenId"];
            /** @description What it is for. */
            name: components["schemas"]["DisplayName"];
            /** @description Whose it is. */
            principal_id: components["schemas"]["PrincipalId"];
            /** @description The project it is restricted to. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description When it was revoked. */
            revoked_at?: components["schemas"]["Timestamp"];
            /** @description How far it reaches. */
            scope: components["schemas"]["TokenScope"];
            /** @description The tenant it is restricted to. */
            tenant_id?: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        TokenViewPage: {
            /** @description The items. */
            items: components["schemas"]["TokenView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description A taint that work puts up with. */
        Toleration: {
            /** @description Only this effect; any when absent. */
            effect?: components["schemas"]["TaintEffect"];
            /** @description The taint's name. */
            key: components["schemas"]["LabelKey"];
            /** @description Only this value; any when absent. */
            value?: components["schemas"]["LabelValue"];
        };
        /** @description A program, socket or file that slices need on the host. */
        Tool: "qemu-system-x86_64" | "qemu-img" | "libvirt-socket" | "ovs-vsctl" | "ovsdb-socket" | "uefi-firmware" | "cloud-localds" | "genisoimage" | "ibv_devinfo" | "rdma" | "mlxconfig";
        /** @description Whether one tool is there. */
        ToolSeen: {
            /** @description Where. */
            path?: string;
            /** @description Whether it is there. */
            present: boolean;
            /** @description Which. */
            tool: components["schemas"]["Tool"];
            /** @description Which version, where that is cheap to ask. */
            version?: string;
        };
        /** @description Which tools are there. */
        ToolsProbe: {
            /** @description One for each tool that was looked for. */
            tools: components["schemas"]["ToolSeen"][];
        };
        /** @description Levels of places that work can be kept together in, such as rack and host. */
        Topology: {
            /** @description The labels that name a place on each level, the widest first: 1 to 16, each once. */
            levels: components["schemas"]["LabelKey"][];
            /** @description Short name, for ever. */
            slug: components["schemas"]["Slug"];
        };
        /** @description An object of governance. */
        TopologyView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description Its id, for its events. */
            id: components["schemas"]["GovernedId"];
            /** @description What it says. */
            spec: components["schemas"]["Topology"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        TopologyViewPage: {
            /** @description The items. */
            items: components["schemas"]["TopologyView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description One thing that would let a refused request in. Each would do alone. */
        UnblockView: {
            /**
             * Format: uint32
             * @description GPUs it takes on one node, for a release.
             */
            gpus?: number;
            /**
             * Format: uint32
             * @description On how many nodes it would do; one of them is enough.
             */
            nodes: number;
            /** @description What has to happen. */
            step: components["schemas"]["Step"];
        };
        /** @description One claim as an interval of use. The claims of one allocation are told one by one. */
        UsageView: {
            /** @description Who held it. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description The claim. */
            claim_id: components["schemas"]["ClaimId"];
            /** @description When it began. */
            from: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description GPUs to bill.
             */
            gpus: number;
            /**
             * Format: int64
             * @description What the part of it that lies in the asked time comes to, in millionths of the currency, rounded down.
             */
            micros: number;
            /**
             * Format: int64
             * @description The price it was sold at.
             */
            price_micros_per_gpu_hour: number;
            /** @description In which form. */
            shape: components["schemas"]["CapacityShape"];
            /** @description Its short name then. */
            sku: string;
            /** @description What was sold. */
            sku_id: components["schemas"]["SkuId"];
            /** @description When it ended; absent while it goes on. */
            to?: components["schemas"]["Timestamp"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        UsageViewPage: {
            /** @description The items. */
            items: components["schemas"]["UsageView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** Format: int64 */
        UseNumber: number;
        /**
         * @description At most 32 KiB of text, of any kind that cloud-init reads.
         * @example #cloud-config
         *     packages: [htop]
         */
        UserData: string;
        /** @description What was written for cloud-init. */
        UserDataView: {
            /** @description The text. */
            user_data: components["schemas"]["UserData"];
        };
        /** Format: int64 */
        UtcOffsetMinutes: number;
        /**
         * @description A time in UTC such as 2026-01-31T12:00:00Z.
         * @example 2026-01-31T12:00:00Z
         */
        UtcTime: string;
        /** Format: int64 */
        VcpusPerGpu: number;
        /** @description Why a workflow waits. */
        WaitView: {
            /** @description What it waits for and what would end it. */
            because: string;
            /** @description A stable code. */
            code: string;
            /** @description Whether that moment has passed. */
            over_budget: boolean;
            /** @description The line of source that decided to wait. */
            source: string;
            /** @description After this the wait is over budget and an alert is raised. */
            until: components["schemas"]["Timestamp"];
        };
        /** @description What would let a workload go on, or help to. */
        WayOutKind: "workload_ends" | "queue_releases" | "quota_raised" | "earlier_starts" | "may_preempt" | "check_passes" | "released" | "queue_resumed" | "time_passes" | "request_changed" | "next_turn";
        /** @description Something that would let a workload go on, or help to. */
        WayOutView: {
            /**
             * Format: int64
             * @description How much.
             */
            amount?: number;
            /** @description When, where that is known. */
            at?: components["schemas"]["Timestamp"];
            /** @description What. */
            kind: components["schemas"]["WayOutKind"];
            /** @description The queue or cohort it is about. */
            node?: string;
            /** @description The workload it is about. */
            workload_id?: components["schemas"]["WorkloadId"];
        };
        /** @description One attempt to deliver. */
        WebhookAttemptView: {
            /** @description When. */
            at: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description How long it took, in milliseconds.
             */
            duration_ms: number;
            /** @description What went wrong. */
            error?: string;
            /**
             * Format: int64
             * @description The how manieth, from 1.
             */
            number: number;
            /** @description What was sent along; signatures are left out. */
            request_headers: components["schemas"]["WebhookHeaderView"][];
            /** @description How the answer began: its first 1,024 bytes. */
            response_body: string;
            /**
             * Format: int64
             * @description The status of the answer, if there was one.
             */
            status?: number;
        };
        /** @description A webhook that somebody wants. */
        WebhookCreateBody: {
            /** @description What it is for. */
            description?: components["schemas"]["Note"];
            /** @description Whether anything is sent; it is when absent. */
            enabled?: boolean;
            /** @description Which events: up to 32 of `NOUN.CHANGE` and `NOUN.*`; all that its owner may read when absent or empty. */
            event_types?: components["schemas"]["EventFilter"][];
            /** @description Only events of this project. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description Where events are sent. With https; without it only into ranges that the platform's operators allow. */
            url: components["schemas"]["WebhookUrl"];
        };
        /** @description A webhook with the secret that signs from now on, which is shown this once. */
        WebhookCreatedView: {
            /** @description `whsec_` and a key in base64: what the receiver checks signatures with. */
            secret: string;
            /** @description The webhook. */
            webhook: components["schemas"]["WebhookView"];
        };
        /** @description A delivery with what was sent and everything that was tried. */
        WebhookDeliveryDetailView: {
            /** @description The newest attempts, newest first, at most 100. */
            attempts: components["schemas"]["WebhookAttemptView"][];
            /** @description The delivery. */
            delivery: components["schemas"]["WebhookDeliveryView"];
            /** @description What is sent; absent until the event has its position. */
            event?: components["schemas"]["CloudEvent"];
        };
        /** @example whd_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        WebhookDeliveryId: string;
        /** @description One event on its way to one webhook. */
        WebhookDeliveryView: {
            /**
             * Format: int64
             * @description Attempts in all.
             */
            attempts: number;
            /** @description When it was recorded. */
            created_at: components["schemas"]["Timestamp"];
            /** @description When it ended. */
            ended_at?: components["schemas"]["Timestamp"];
            /** @description Which event; the `webhook-id` of every attempt. */
            event_id: components["schemas"]["EventId"];
            /** @description `io.gpuaas.NOUN.CHANGE.v1`. */
            event_type?: string;
            /** @description Its id. */
            id: components["schemas"]["WebhookDeliveryId"];
            /** @description What went wrong with the last attempt. */
            last_error?: string;
            /**
             * Format: int64
             * @description What the last attempt was answered with.
             */
            last_status?: number;
            /** @description When the next attempt is due. */
            next_attempt_at?: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description The event's position in the stream, once it has one.
             */
            sequence?: number;
            /** @description How it stands. */
            state: components["schemas"]["DeliveryState"];
            /** @description To which webhook. */
            webhook_id: components["schemas"]["WebhookId"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        WebhookDeliveryViewPage: {
            /** @description The items. */
            items: components["schemas"]["WebhookDeliveryView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description One header of a request. */
        WebhookHeaderView: {
            /** @description Its name. */
            name: string;
            /** @description What it said. */
            value: string;
        };
        /** @example whk_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        WebhookId: string;
        /** @description What to send again. */
        WebhookReplayBody: {
            /** @description Every wanted event after this position. */
            after: components["schemas"]["EventPosition"];
        };
        /** @description How a new secret comes into use. */
        WebhookRotateBody: {
            /** @description For how long the secret before signs beside the new one, in seconds; a day when absent, not at all when 0. */
            previous_for_s?: components["schemas"]["PreviousSecretS"];
        };
        /** @description What changes about a webhook. At least one field. */
        WebhookUpdateBody: {
            /** @description What it is for. */
            description?: components["schemas"]["Note"];
            /** @description Whether anything is sent. One that is enabled again begins with what happens from then on. */
            enabled?: boolean;
            /** @description Which events: up to 32; all that its owner may read when empty. */
            event_types?: components["schemas"]["EventFilter"][];
            /** @description Where events are sent. */
            url?: components["schemas"]["WebhookUrl"];
        };
        /**
         * @description http:// or https://, a host, perhaps a port, and perhaps a path; no user and no fragment
         * @example https://hooks.acme.example/gpuaas
         */
        WebhookUrl: string;
        /** @description A webhook. */
        WebhookView: {
            /** @description When it came to be. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What it is for. */
            description?: components["schemas"]["Note"];
            /** @description Why the platform ended it. */
            disabled_why?: string;
            /** @description Whether anything is sent. */
            enabled: boolean;
            /** @description Which events; all that its owner may read when empty. */
            event_types: components["schemas"]["EventFilter"][];
            /** @description The first failure since anything was delivered. */
            failing_since?: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["WebhookId"];
            /**
             * Format: int64
             * @description Deliveries that have not ended.
             */
            open_deliveries: number;
            /**
             * Format: int64
             * @description Events up to this position were taken on.
             */
            position: number;
            /** @description Until when an older secret signs beside the newest. */
            previous_secret_until?: components["schemas"]["Timestamp"];
            /** @description Only events of this project. */
            project_id?: components["schemas"]["ProjectId"];
            /** @description One sentence. */
            projected: string;
            /** @description Whose it is; the platform's when absent. */
            tenant_id?: components["schemas"]["TenantId"];
            /** @description Where events are sent. */
            url: components["schemas"]["WebhookUrl"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        WebhookViewPage: {
            /** @description The items. */
            items: components["schemas"]["WebhookView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** Format: int64 */
        WeightMilli: number;
        /** @description Who the caller is and what the token in use may do. */
        WhoamiView: {
            /** @description The roles the token carries. */
            bindings: components["schemas"]["BindingView"][];
            /** @description The caller. */
            principal: components["schemas"]["PrincipalView"];
            /** @description The token in use. */
            token: components["schemas"]["TokenView"];
        };
        /** @description A time of the week in which a queue has another quota. A window that ends at or before its start ends on the next day. */
        Window: {
            /** @description The days it begins on, each once. */
            days: components["schemas"]["Day"][];
            /** @description The minute of the day it begins in. */
            from_minute: components["schemas"]["MinuteOfDay"];
            /** @description What is different. */
            quotas: components["schemas"]["WindowQuota"][];
            /** @description The minute of the day it ends before. */
            to_minute: components["schemas"]["MinuteOfDay"];
            /**
             * @description How far the clock it is told by is ahead of UTC.
             * @default 0
             */
            utc_offset_minutes?: components["schemas"]["UtcOffsetMinutes"];
        };
        /** @description What is its own of a resource in a flavor, while a window is open. */
        WindowQuota: {
            /** @description The flavor, by short name. */
            flavor: components["schemas"]["Slug"];
            /** @description Its own, instead of what it has otherwise. */
            nominal: components["schemas"]["Quantity"];
            /**
             * @description What is counted; GPUs unless said.
             * @default gpu
             */
            resource?: components["schemas"]["Slug"];
        };
        /** @description What became of one slot that an allocation had. */
        WipeOutcome: "pending" | "proved" | "unproved" | "overridden";
        /** @example ovr_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        WipeOverrideId: string;
        /** @description Why a slot should go on without a proof. */
        WipeOverrideRequestBody: {
            /** @description Where the evidence is: a ticket, a protocol, a certificate of destruction. */
            evidence_ref?: components["schemas"]["Note"];
            /** @description Why the slot holds nothing of its last tenant all the same. The second operator judges by it, and it is kept. */
            reason: components["schemas"]["Justification"];
        };
        /** @description A wish that a slot goes on without a proof, and what became of it. */
        WipeOverrideView: {
            /** @description When. */
            decided_at?: components["schemas"]["Timestamp"];
            /** @description Who decided. */
            decided_by?: string;
            /** @description Where the evidence is. */
            evidence_ref?: string;
            /** @description Where it stands. */
            execution: components["schemas"]["OverrideState"];
            /** @description Until when it can be decided. */
            expires_at: components["schemas"]["Timestamp"];
            /** @description Its id. */
            id: components["schemas"]["WipeOverrideId"];
            /** @description One sentence. */
            projected: string;
            /** @description Why. */
            reason: string;
            /** @description When. */
            requested_at: components["schemas"]["Timestamp"];
            /** @description Who asked. */
            requested_by: string;
            /** @description The slot. */
            slot_id: components["schemas"]["SlotId"];
            /**
             * Format: int64
             * @description The use that was not proved.
             */
            use_generation: number;
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        WipeOverrideViewPage: {
            /** @description The items. */
            items: components["schemas"]["WipeOverrideView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
        /** @description The steps a wipe consists of. */
        WipeStep: "guest_gone" | "disk_erased" | "disk_read_back" | "gpu_reset" | "fabric_reset";
        /** @description What became of one slot that an allocation had. */
        WipeView: {
            /** @description How its disk was erased, when that is proved. */
            method?: components["schemas"]["EraseMethod"];
            /** @description SHA-256 of the key it was made with, in hexadecimal. */
            node_key_fingerprint?: string;
            /** @description What became of it. */
            outcome: components["schemas"]["WipeOutcome"];
            /** @description The same in a sentence. */
            projected: string;
            /** @description When the proof came in. */
            proved_at?: components["schemas"]["Timestamp"];
            /** @description The node's signature under the proof, in hexadecimal. */
            signature?: string;
            /**
             * Format: int64
             * @description Which of the allocation's slots, counted from 1.
             */
            slot_number: number;
            /** @description The steps that were proved. */
            steps?: components["schemas"]["WipeStep"][];
        };
        /** @description Why a workload stands where it stands. */
        WorkloadExplanationView: {
            /** @description The queue with quota. */
            cluster_queue: components["schemas"]["Slug"];
            /** @description What its workflow is doing. */
            execution: components["schemas"]["WorkloadState"];
            /** @description An operator keeps it from being admitted. */
            gated: boolean;
            /** @description Not to be admitted before. */
            not_before?: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Its place in the queue, from 1; only while it waits.
             */
            position?: number;
            /** @description Every time that it was told to go, oldest first; the last hundred. */
            preemptions: components["schemas"]["PreemptionView"][];
            /** @description One sentence. */
            projected: string;
            /** @description Why it waits: a code, with its numbers and objects. */
            wait?: components["schemas"]["ExplanationView"];
            /** @description Since when that code holds. */
            waits_since?: components["schemas"]["Timestamp"];
            /** @description The workload. */
            workload_id: components["schemas"]["WorkloadId"];
        };
        /** @description Whether a workload is kept from being admitted. */
        WorkloadGateBody: {
            /** @description Closed, it waits whatever there is room for. */
            closed: boolean;
        };
        /** @example wkl_01jh2n6f4zw8q9r0s1t2v3x4y5 */
        WorkloadId: string;
        /** @description One member. */
        WorkloadMemberView: {
            /** @description The allocation. */
            allocation_id: components["schemas"]["AllocationId"];
            /** @description What is wanted of it. */
            desired: components["schemas"]["AllocationDesired"];
            /** @description What its workflow is doing. */
            execution: components["schemas"]["AllocationState"];
        };
        /** @description Another priority. */
        WorkloadPriorityBody: {
            /** @description The class that its priority comes from. */
            priority_class: components["schemas"]["Slug"];
        };
        /** @description Where the workflow stands. `admitted` to `stopping` hold quota; the last four are ends. */
        WorkloadState: "queued" | "admitted" | "running" | "preempting" | "stopping" | "finished" | "cancelled" | "refused" | "failed";
        /** @description Members that start together or not at all. */
        WorkloadSubmitBody: {
            /** @description What each of them is; its name is that of the workload as well. */
            launch: components["schemas"]["AllocationLaunchBody"];
            /** @description How many members. */
            members: components["schemas"]["MemberCount"];
        };
        /** @description A workload. */
        WorkloadView: {
            /** @description When it was admitted. */
            admitted_at?: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description How many of its GPUs are borrowed, and can be reclaimed.
             */
            borrowed_gpus: number;
            /** @description The queue with quota behind that. */
            cluster_queue: components["schemas"]["Slug"];
            /** @description When it was submitted. */
            created_at: components["schemas"]["Timestamp"];
            /** @description What is wanted. */
            desired: components["schemas"]["AllocationDesired"];
            /** @description What its workflow is doing. */
            execution: components["schemas"]["WorkloadState"];
            /** @description The kind of GPUs whose quota it uses. */
            flavor?: components["schemas"]["Slug"];
            /** @description An operator keeps it from being admitted. */
            gated: boolean;
            /**
             * Format: int64
             * @description How many GPUs each member has.
             */
            gpu_count: number;
            /** @description What may serve it, where it named a hardware profile. */
            hardware?: components["schemas"]["HardwareView"];
            /** @description Its id. */
            id: components["schemas"]["WorkloadId"];
            /** @description What to do when it cannot start at once. */
            if_unavailable: components["schemas"]["IfUnavailable"];
            /**
             * Format: int64
             * @description How long it runs at most, from its admission.
             */
            max_run_s?: number;
            /**
             * Format: int64
             * @description How many members it has.
             */
            member_count: number;
            /** @description Its members: those that live, and those that ended and were not launched again. */
            members: components["schemas"]["WorkloadMemberView"][];
            /** @description Its name. */
            name: components["schemas"]["Slug"];
            /** @description Not to be admitted before. */
            not_before?: components["schemas"]["Timestamp"];
            /**
             * Format: int64
             * @description Its place in the queue, from 1; only while it waits.
             */
            position?: number;
            /** @description The last time it was told to go. */
            preemption?: components["schemas"]["PreemptionView"];
            /**
             * Format: int64
             * @description Its priority; higher goes first.
             */
            priority: number;
            /** @description The class that its priority comes from. */
            priority_class?: components["schemas"]["Slug"];
            /** @description How far the workflow has come. */
            progress: components["schemas"]["ProgressView"];
            /** @description The project it belongs to. */
            project_id: components["schemas"]["ProjectId"];
            /** @description One sentence. */
            projected: string;
            /** @description The queue of the project that it was submitted to. */
            queue: components["schemas"]["Slug"];
            /** @description Since when it has its place in the queue; kept over preemptions. */
            queued_at: components["schemas"]["Timestamp"];
            /** @description Where. */
            region_id: components["schemas"]["RegionId"];
            /** @description In which form. */
            shape: components["schemas"]["CapacityShape"];
            /** @description What each member is; of one that named a hardware profile and waits, what it was last or is first to be. */
            sku_id: components["schemas"]["SkuId"];
            /**
             * Format: int64
             * @description How often it was stopped and queued again.
             */
            stops: number;
            /** @description The tenant it belongs to. */
            tenant_id: components["schemas"]["TenantId"];
            /**
             * Format: int64
             * @description Rises by one with every change; the ETag.
             */
            version: number;
            /** @description Why it waits; only while it does, and once somebody has looked at it. */
            wait?: components["schemas"]["ExplanationView"];
        };
        /** @description One page of a list; oldest first, where the query does not say otherwise. */
        WorkloadViewPage: {
            /** @description The items. */
            items: components["schemas"]["WorkloadView"][];
            /** @description Present when there is more. */
            next_page_token?: components["schemas"]["PageToken"];
        };
    };
    responses: {
        /** @description Not changed: the object is still at a version that `If-None-Match` names. */
        304: {
            headers: {
                ETag: components["headers"]["ETag"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /**
         * @description - [`malformed_request`](/docs/errors/malformed_request): The request is not valid HTTP.
         *     - [`invalid_parameter`](/docs/errors/invalid_parameter): A parameter does not match its schema.
         *     - [`invalid_header`](/docs/errors/invalid_header): A header does not match its rule.
         */
        "400.malformed_request.invalid_parameter.invalid_header": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "malformed_request" | "invalid_parameter" | "invalid_header";
                    /** @constant */
                    status?: 400;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`malformed_request`](/docs/errors/malformed_request): The request is not valid HTTP.
         *     - [`invalid_parameter`](/docs/errors/invalid_parameter): A parameter does not match its schema.
         *     - [`invalid_header`](/docs/errors/invalid_header): A header does not match its rule.
         *     - [`idempotency_key_missing`](/docs/errors/idempotency_key_missing): An Idempotency-Key header is required.
         */
        "400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "malformed_request" | "invalid_parameter" | "invalid_header" | "idempotency_key_missing";
                    /** @constant */
                    status?: 400;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`malformed_request`](/docs/errors/malformed_request): The request is not valid HTTP.
         *     - [`invalid_parameter`](/docs/errors/invalid_parameter): A parameter does not match its schema.
         *     - [`invalid_header`](/docs/errors/invalid_header): A header does not match its rule.
         *     - [`invalid_page_token`](/docs/errors/invalid_page_token): The page token does not belong to this list.
         */
        "400.malformed_request.invalid_parameter.invalid_header.invalid_page_token": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "malformed_request" | "invalid_parameter" | "invalid_header" | "invalid_page_token";
                    /** @constant */
                    status?: 400;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`malformed_request`](/docs/errors/malformed_request): The request is not valid HTTP.
         *     - [`malformed_json`](/docs/errors/malformed_json): The body is not valid JSON.
         *     - [`invalid_body`](/docs/errors/invalid_body): The body does not match its schema.
         *     - [`body_too_deep`](/docs/errors/body_too_deep): The body is nested too deeply.
         *     - [`invalid_parameter`](/docs/errors/invalid_parameter): A parameter does not match its schema.
         *     - [`invalid_header`](/docs/errors/invalid_header): A header does not match its rule.
         */
        "400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "malformed_request" | "malformed_json" | "invalid_body" | "body_too_deep" | "invalid_parameter" | "invalid_header";
                    /** @constant */
                    status?: 400;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`malformed_request`](/docs/errors/malformed_request): The request is not valid HTTP.
         *     - [`malformed_json`](/docs/errors/malformed_json): The body is not valid JSON.
         *     - [`invalid_body`](/docs/errors/invalid_body): The body does not match its schema.
         *     - [`body_too_deep`](/docs/errors/body_too_deep): The body is nested too deeply.
         *     - [`invalid_parameter`](/docs/errors/invalid_parameter): A parameter does not match its schema.
         *     - [`invalid_header`](/docs/errors/invalid_header): A header does not match its rule.
         *     - [`idempotency_key_missing`](/docs/errors/idempotency_key_missing): An Idempotency-Key header is required.
         */
        "400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "malformed_request" | "malformed_json" | "invalid_body" | "body_too_deep" | "invalid_parameter" | "invalid_header" | "idempotency_key_missing";
                    /** @constant */
                    status?: 400;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`unauthenticated`](/docs/errors/unauthenticated): A valid token is required.
         *     - [`token_expired`](/docs/errors/token_expired): The token has expired.
         *     - [`token_revoked`](/docs/errors/token_revoked): The token was revoked.
         */
        "401.unauthenticated.token_expired.token_revoked": {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "unauthenticated" | "token_expired" | "token_revoked";
                    /** @constant */
                    status?: 401;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`csrf_refused`](/docs/errors/csrf_refused): The request may come from another site. */
        "403.csrf_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "csrf_refused";
                    /** @constant */
                    status?: 403;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`forbidden`](/docs/errors/forbidden): The caller may not do this. */
        "403.forbidden": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "forbidden";
                    /** @constant */
                    status?: 403;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`forbidden`](/docs/errors/forbidden): The caller may not do this.
         *     - [`csrf_refused`](/docs/errors/csrf_refused): The request may come from another site.
         */
        "403.forbidden.csrf_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "forbidden" | "csrf_refused";
                    /** @constant */
                    status?: 403;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`forbidden`](/docs/errors/forbidden): The caller may not do this.
         *     - [`token_scope_too_narrow`](/docs/errors/token_scope_too_narrow): The token may only be used for reading.
         *     - [`csrf_refused`](/docs/errors/csrf_refused): The request may come from another site.
         */
        "403.forbidden.token_scope_too_narrow.csrf_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "forbidden" | "token_scope_too_narrow" | "csrf_refused";
                    /** @constant */
                    status?: 403;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`not_found`](/docs/errors/not_found): Not found. */
        "404.not_found": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "not_found";
                    /** @constant */
                    status?: 404;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`request_timeout`](/docs/errors/request_timeout): The request took too long to arrive. */
        "408.request_timeout": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "request_timeout";
                    /** @constant */
                    status?: 408;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`last_admin`](/docs/errors/last_admin): A tenant must keep one administrator. */
        "409.last_admin": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "last_admin";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`name_taken`](/docs/errors/name_taken): The name is in use.
         *     - [`request_in_flight`](/docs/errors/request_in_flight): A request with this Idempotency-Key is still running.
         */
        "409.name_taken.request_in_flight": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "name_taken" | "request_in_flight";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`name_taken`](/docs/errors/name_taken): The name is in use.
         *     - [`state_conflict`](/docs/errors/state_conflict): Its state does not allow this.
         *     - [`request_in_flight`](/docs/errors/request_in_flight): A request with this Idempotency-Key is still running.
         */
        "409.name_taken.state_conflict.request_in_flight": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "name_taken" | "state_conflict" | "request_in_flight";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`name_taken`](/docs/errors/name_taken): The name is in use.
         *     - [`state_conflict`](/docs/errors/state_conflict): Its state does not allow this.
         *     - [`request_in_flight`](/docs/errors/request_in_flight): A request with this Idempotency-Key is still running.
         *     - [`ingress_not_owned`](/docs/errors/ingress_not_owned): Nobody owns ways in here.
         */
        "409.name_taken.state_conflict.request_in_flight.ingress_not_owned": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "name_taken" | "state_conflict" | "request_in_flight" | "ingress_not_owned";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`request_in_flight`](/docs/errors/request_in_flight): A request with this Idempotency-Key is still running. */
        "409.request_in_flight": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "request_in_flight";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`state_conflict`](/docs/errors/state_conflict): Its state does not allow this. */
        "409.state_conflict": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "state_conflict";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`state_conflict`](/docs/errors/state_conflict): Its state does not allow this.
         *     - [`last_admin`](/docs/errors/last_admin): A tenant must keep one administrator.
         */
        "409.state_conflict.last_admin": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "state_conflict" | "last_admin";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`state_conflict`](/docs/errors/state_conflict): Its state does not allow this.
         *     - [`request_in_flight`](/docs/errors/request_in_flight): A request with this Idempotency-Key is still running.
         */
        "409.state_conflict.request_in_flight": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "state_conflict" | "request_in_flight";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`state_conflict`](/docs/errors/state_conflict): Its state does not allow this.
         *     - [`request_in_flight`](/docs/errors/request_in_flight): A request with this Idempotency-Key is still running.
         *     - [`node_not_ready`](/docs/errors/node_not_ready): The node is not ready for slices.
         */
        "409.state_conflict.request_in_flight.node_not_ready": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "state_conflict" | "request_in_flight" | "node_not_ready";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`state_conflict`](/docs/errors/state_conflict): Its state does not allow this.
         *     - [`request_in_flight`](/docs/errors/request_in_flight): A request with this Idempotency-Key is still running.
         *     - [`quota_exceeded`](/docs/errors/quota_exceeded): The project would exceed its GPU cap.
         *     - [`queue_missing`](/docs/errors/queue_missing): There is no queue to wait in.
         */
        "409.state_conflict.request_in_flight.quota_exceeded.queue_missing": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "state_conflict" | "request_in_flight" | "quota_exceeded" | "queue_missing";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`still_in_use`](/docs/errors/still_in_use): Something else still refers to it. */
        "409.still_in_use": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "still_in_use";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`still_in_use`](/docs/errors/still_in_use): Something else still refers to it.
         *     - [`request_in_flight`](/docs/errors/request_in_flight): A request with this Idempotency-Key is still running.
         */
        "409.still_in_use.request_in_flight": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "still_in_use" | "request_in_flight";
                    /** @constant */
                    status?: 409;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`stale_version`](/docs/errors/stale_version): The object has changed since that version. */
        "412.stale_version": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "stale_version";
                    /** @constant */
                    status?: 412;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`body_too_large`](/docs/errors/body_too_large): The body is too large. */
        "413.body_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "body_too_large";
                    /** @constant */
                    status?: 413;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`uri_too_long`](/docs/errors/uri_too_long): The request target is too long. */
        "414.uri_too_long": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "uri_too_long";
                    /** @constant */
                    status?: 414;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`unsupported_media_type`](/docs/errors/unsupported_media_type): The body must be application/json. */
        "415.unsupported_media_type": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "unsupported_media_type";
                    /** @constant */
                    status?: 415;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`governance_refused`](/docs/errors/governance_refused): The objects of governance would not fit together. */
        "422.governance_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "governance_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request. */
        "422.idempotency_key_reused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`governance_refused`](/docs/errors/governance_refused): The objects of governance would not fit together.
         */
        "422.idempotency_key_reused.governance_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "governance_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`image_refused`](/docs/errors/image_refused): The image cannot be taken.
         */
        "422.idempotency_key_reused.image_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "image_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`lab_only`](/docs/errors/lab_only): Only a laboratory has this.
         */
        "422.idempotency_key_reused.lab_only": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "lab_only";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`lease_refused`](/docs/errors/lease_refused): The lease cannot end then.
         */
        "422.idempotency_key_reused.lease_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "lease_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`slot_refused`](/docs/errors/slot_refused): The slot cannot be approved like this.
         */
        "422.idempotency_key_reused.slot_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "slot_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`ssh_key_refused`](/docs/errors/ssh_key_refused): The public key cannot be used.
         */
        "422.idempotency_key_reused.ssh_key_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "ssh_key_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`unknown_reference`](/docs/errors/unknown_reference): The body refers to something that does not exist.
         */
        "422.idempotency_key_reused.unknown_reference": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "unknown_reference";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`unknown_reference`](/docs/errors/unknown_reference): The body refers to something that does not exist.
         *     - [`ingress_out_of_range`](/docs/errors/ingress_out_of_range): The port was not set aside for ways in.
         */
        "422.idempotency_key_reused.unknown_reference.ingress_out_of_range": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "unknown_reference" | "ingress_out_of_range";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`unknown_reference`](/docs/errors/unknown_reference): The body refers to something that does not exist.
         *     - [`lab_only`](/docs/errors/lab_only): Only a laboratory has this.
         */
        "422.idempotency_key_reused.unknown_reference.lab_only": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "unknown_reference" | "lab_only";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`unknown_reference`](/docs/errors/unknown_reference): The body refers to something that does not exist.
         *     - [`lease_refused`](/docs/errors/lease_refused): The lease cannot end then.
         *     - [`image_unavailable`](/docs/errors/image_unavailable): There is no such image to launch.
         *     - [`image_unfit`](/docs/errors/image_unfit): The image does not fit.
         *     - [`lab_only`](/docs/errors/lab_only): Only a laboratory has this.
         *     - [`not_for_sale`](/docs/errors/not_for_sale): This cannot be bought.
         */
        "422.idempotency_key_reused.unknown_reference.lease_refused.image_unavailable.image_unfit.lab_only.not_for_sale": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "unknown_reference" | "lease_refused" | "image_unavailable" | "image_unfit" | "lab_only" | "not_for_sale";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`idempotency_key_reused`](/docs/errors/idempotency_key_reused): The Idempotency-Key was used for another request.
         *     - [`unknown_reference`](/docs/errors/unknown_reference): The body refers to something that does not exist.
         *     - [`webhook_refused`](/docs/errors/webhook_refused): Events cannot be sent there.
         */
        "422.idempotency_key_reused.unknown_reference.webhook_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "idempotency_key_reused" | "unknown_reference" | "webhook_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`image_refused`](/docs/errors/image_refused): The image cannot be taken. */
        "422.image_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "image_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`lab_only`](/docs/errors/lab_only): Only a laboratory has this. */
        "422.lab_only": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "lab_only";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`unknown_reference`](/docs/errors/unknown_reference): The body refers to something that does not exist. */
        "422.unknown_reference": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "unknown_reference";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`unknown_reference`](/docs/errors/unknown_reference): The body refers to something that does not exist.
         *     - [`lease_refused`](/docs/errors/lease_refused): The lease cannot end then.
         *     - [`image_unavailable`](/docs/errors/image_unavailable): There is no such image to launch.
         *     - [`image_unfit`](/docs/errors/image_unfit): The image does not fit.
         *     - [`lab_only`](/docs/errors/lab_only): Only a laboratory has this.
         *     - [`not_for_sale`](/docs/errors/not_for_sale): This cannot be bought.
         */
        "422.unknown_reference.lease_refused.image_unavailable.image_unfit.lab_only.not_for_sale": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "unknown_reference" | "lease_refused" | "image_unavailable" | "image_unfit" | "lab_only" | "not_for_sale";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`webhook_refused`](/docs/errors/webhook_refused): Events cannot be sent there. */
        "422.webhook_refused": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "webhook_refused";
                    /** @constant */
                    status?: 422;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`upgrade_required`](/docs/errors/upgrade_required): The request must ask for a stream. */
        "426.upgrade_required": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "upgrade_required";
                    /** @constant */
                    status?: 426;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`version_required`](/docs/errors/version_required): An If-Match header is required. */
        "428.version_required": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "version_required";
                    /** @constant */
                    status?: 428;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`rate_limited`](/docs/errors/rate_limited): Too many requests. */
        "429.rate_limited": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "rate_limited";
                    /** @constant */
                    status?: 429;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`rate_limited`](/docs/errors/rate_limited): Too many requests.
         *     - [`stream_limit`](/docs/errors/stream_limit): Too many open streams.
         */
        "429.rate_limited.stream_limit": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "rate_limited" | "stream_limit";
                    /** @constant */
                    status?: 429;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`headers_too_large`](/docs/errors/headers_too_large): The headers are too large. */
        "431.headers_too_large": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "headers_too_large";
                    /** @constant */
                    status?: 431;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`internal`](/docs/errors/internal): The platform failed. */
        "500.internal": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "internal";
                    /** @constant */
                    status?: 500;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`store_unavailable`](/docs/errors/store_unavailable): The store cannot be reached. */
        "503.store_unavailable": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "store_unavailable";
                    /** @constant */
                    status?: 503;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`store_unavailable`](/docs/errors/store_unavailable): The store cannot be reached.
         *     - [`outcome_unknown`](/docs/errors/outcome_unknown): Whether the change was made is not known.
         */
        "503.store_unavailable.outcome_unknown": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "store_unavailable" | "outcome_unknown";
                    /** @constant */
                    status?: 503;
                } & components["schemas"]["Problem"];
            };
        };
        /**
         * @description - [`store_unavailable`](/docs/errors/store_unavailable): The store cannot be reached.
         *     - [`sign_in_unavailable`](/docs/errors/sign_in_unavailable): Signing in through the identity provider does not work now.
         */
        "503.store_unavailable.sign_in_unavailable": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "store_unavailable" | "sign_in_unavailable";
                    /** @constant */
                    status?: 503;
                } & components["schemas"]["Problem"];
            };
        };
        /** @description - [`guest_unreachable`](/docs/errors/guest_unreachable): The guest cannot be reached. */
        "504.guest_unreachable": {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": {
                    /** @enum {string} */
                    code?: "guest_unreachable";
                    /** @constant */
                    status?: 504;
                } & components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
        IdempotencyKey: string;
        /** @description Do this only if the object is still at this version. */
        IfMatchOptional: string;
        /** @description The version that was read, as its `ETag` gave it. */
        IfMatchRequired: string;
        /** @description Versions that the reader has already: 304 while the object is at one of them. */
        IfNoneMatch: string;
        /** @description Go on after this position; wins over `after`. */
        LastEventId: components["schemas"]["EventPosition"];
        /** @description What the connection becomes; with `Connection: Upgrade`, over HTTP/1.1. */
        Upgrade: "gpuaas-stream";
    };
    requestBodies: never;
    headers: {
        /** @description The version of the object, for `If-Match`. */
        ETag: string;
        /** @description The next page, as `rel="next"`; absent on the last one. */
        Link: string;
        /** @description The path of the new object, or of the operation to follow. */
        Location: string;
        /** @description What is left of the token's allowance (`r`) and in how many seconds more comes (`t`). */
        RateLimit: string;
        /** @description The token's allowance: requests (`q`) in a window of seconds (`w`). */
        "RateLimit-Policy": string;
        /** @description Seconds to wait before trying again; present when the problem is retryable. */
        "Retry-After": number;
        /** @description Always `Bearer`. */
        "WWW-Authenticate": "Bearer";
        /** @description Names this request in logs and in the audit trail. */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    api_index: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiIndexView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    allocation_survey: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
                /** @description Only in this state. */
                state?: components["schemas"]["AllocationState"];
                /** @description Only of this tenant. */
                tenant_id?: components["schemas"]["TenantId"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    allocation_inspect: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationPlaceView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    placed_decision_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlacedDecisionViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    allocation_force_release: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    claim_backfill: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimBackfillBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimBackfillView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    cluster_queue_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClusterQueueViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    cluster_queue_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The cluster queue, by its short name. */
                cluster_queue: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClusterQueueView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    cluster_queue_put: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The cluster queue, by its short name. */
                cluster_queue: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClusterQueue"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClusterQueueView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    cluster_queue_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The cluster queue, by its short name. */
                cluster_queue: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    cohort_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CohortViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    cohort_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The cohort, by its short name. */
                cohort: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CohortView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    cohort_put: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The cohort, by its short name. */
                cohort: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cohort"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CohortView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    cohort_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The cohort, by its short name. */
                cohort: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    enrollment_token_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnrollmentTokenViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    enrollment_token_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EnrollmentTokenCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnrollmentTokenCreatedView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    enrollment_token_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The token. */
                enrollment_token_id: components["schemas"]["EnrollmentTokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnrollmentTokenView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    enrollment_token_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The token. */
                enrollment_token_id: components["schemas"]["EnrollmentTokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    governance_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GovernanceView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    governance_apply: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GovernanceApplyBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GovernanceAppliedView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    governance_simulate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GovernanceApplyBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SimulationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    queue_use: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueUseList"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    machine_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MachineViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    machine_sync: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    node_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    node_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.unknown_reference"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    claim_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    node_convert: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeConvertBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_demote: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_disable: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    disk_grant_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiskGrantViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    disk_grant_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DiskGrantCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiskGrantView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    disk_grant_delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
                /** @description The disk, by its own identity. */
                nvme_identity: components["schemas"]["DeviceName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_drain: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_evacuate: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvacuationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    incident_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IncidentViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    plan_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanReportView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    node_plan: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlanOrderBody"];
            };
        };
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_prefetch: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PrefetchBody"];
            };
        };
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_promote: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight.node_not_ready"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    readiness_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadinessView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    readiness_order: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    reconcile_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReconcileReportView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    node_reconcile: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_repair: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    slot_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    slot_approve: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SlotApproveBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.slot_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    slot_approve_complete: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovedAllView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused.slot_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    node_revoke_identity: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    discovery_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscoveryView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    node_discover: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    task_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    node_undrain: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The node. */
                node_id: components["schemas"]["NodeId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    occupancy_show: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OccupancyList"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    operator_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrincipalViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    operator_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OperatorCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrincipalView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    operator_remove: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The person or service account. */
                principal_id: components["schemas"]["PrincipalId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.last_admin"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    provider_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderListView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    slot_survey: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["SlotPageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
                /** @description Only of nodes of this pool. */
                pool_id?: components["schemas"]["PoolId"];
                /** @description Only in this state. */
                state?: components["schemas"]["SlotState"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotCellViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    slot_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The slot. */
                slot_id: components["schemas"]["SlotId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    slot_reapprove: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The slot. */
                slot_id: components["schemas"]["SlotId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SlotApproveBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.slot_refused"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    slot_disable: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The slot. */
                slot_id: components["schemas"]["SlotId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    slot_enable: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The slot. */
                slot_id: components["schemas"]["SlotId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused.slot_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    wipe_override_request: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The slot. */
                slot_id: components["schemas"]["SlotId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WipeOverrideRequestBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WipeOverrideView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    proof_show: {
        parameters: {
            query?: {
                /** @description The use that ended; the newest proof of all when absent. */
                use_generation?: components["schemas"]["UseNumber"];
            };
            header?: never;
            path: {
                /** @description The slot. */
                slot_id: components["schemas"]["SlotId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProofView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    proof_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The slot. */
                slot_id: components["schemas"]["SlotId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProofSummaryPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    slot_repair: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The slot. */
                slot_id: components["schemas"]["SlotId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    platform_status: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformStatusView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    topology_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopologyViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    topology_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The topology, by its short name. */
                topology: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopologyView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    topology_put: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The topology, by its short name. */
                topology: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Topology"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopologyView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    topology_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The topology, by its short name. */
                topology: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    wait_list: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StuckList"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    platform_webhook_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    platform_webhook_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookCreatedView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference.webhook_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    wipe_override_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WipeOverrideViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    wipe_override_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The override. */
                override_id: components["schemas"]["WipeOverrideId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WipeOverrideView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    wipe_override_approve: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The override. */
                override_id: components["schemas"]["WipeOverrideId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WipeOverrideView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    wipe_override_reject: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The override. */
                override_id: components["schemas"]["WipeOverrideId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WipeOverrideView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    workload_survey: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
                /** @description Only of this cluster queue. */
                queue?: components["schemas"]["Slug"];
                /** @description Only in this state. */
                state?: components["schemas"]["WorkloadState"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    workload_gate: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The workload. */
                workload_id: components["schemas"]["WorkloadId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkloadGateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    allocation_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    allocation_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AllocationUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    allocation_console: {
        parameters: {
            query?: never;
            header: {
                /** @description What the connection becomes; with `Connection: Upgrade`, over HTTP/1.1. */
                Upgrade: components["parameters"]["Upgrade"];
            };
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connection is a stream from here on: bytes in both directions, until either side ends it. */
            101: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            426: components["responses"]["426.upgrade_required"];
            429: components["responses"]["429.rate_limited.stream_limit"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
            504: components["responses"]["504.guest_unreachable"];
        };
    };
    decision_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    allocation_extend: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AllocationExtendBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.lease_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    allocation_proofs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationProofsView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    allocation_release: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    allocation_ssh: {
        parameters: {
            query?: never;
            header: {
                /** @description What the connection becomes; with `Connection: Upgrade`, over HTTP/1.1. */
                Upgrade: components["parameters"]["Upgrade"];
            };
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connection is a stream from here on: bytes in both directions, until either side ends it. */
            101: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            426: components["responses"]["426.upgrade_required"];
            429: components["responses"]["429.rate_limited.stream_limit"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
            504: components["responses"]["504.guest_unreachable"];
        };
    };
    stream_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    timeline_show: {
        parameters: {
            query?: {
                /** @description Only entries after this position; 0 when absent. */
                after?: components["schemas"]["EventPosition"];
                /** @description How many at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
            };
            header?: never;
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelinePage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    timeline_stream: {
        parameters: {
            query?: {
                /** @description Only entries after this position; from the start when absent. `Last-Event-ID` wins. */
                after?: components["schemas"]["EventPosition"];
            };
            header?: {
                /** @description Go on after this position; wins over `after`. */
                "Last-Event-ID"?: components["parameters"]["LastEventId"];
            };
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of server-sent events that goes on until either side ends it. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    user_data_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The allocation. */
                allocation_id: components["schemas"]["AllocationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserDataView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    audit_list: {
        parameters: {
            query?: {
                /** @description Only this operation. */
                action?: components["schemas"]["RecordedName"];
                /** @description Only by this one: a principal's id, or `system:…`. */
                actor?: components["schemas"]["RecordedName"];
                /** @description From this moment on; from the beginning when absent. */
                from?: components["schemas"]["UtcTime"];
                /** @description What comes first; the oldest when absent. */
                order?: components["schemas"]["ListOrder"];
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
                /** @description Only on this. */
                subject?: components["schemas"]["RecordedName"];
                /** @description Until before this moment; until now when absent. */
                to?: components["schemas"]["UtcTime"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    availability_show: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AvailabilityList"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    event_list: {
        parameters: {
            query?: {
                /** @description Only events after this position; 0 when absent. */
                after?: components["schemas"]["EventPosition"];
                /** @description How many at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Only events of the thing with this id. */
                subject?: components["schemas"]["RecordedName"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    event_stream: {
        parameters: {
            query?: {
                /** @description Only events after this position; from now on when absent. `Last-Event-ID` wins. */
                after?: components["schemas"]["EventPosition"];
            };
            header?: {
                /** @description Go on after this position; wins over `after`. */
                "Last-Event-ID"?: components["parameters"]["LastEventId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of server-sent events that goes on until either side ends it. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    flavor_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlavorViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    flavor_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The flavor, by its short name. */
                flavor: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlavorView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    flavor_put: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The flavor, by its short name. */
                flavor: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Flavor"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlavorView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    flavor_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The flavor, by its short name. */
                flavor: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    hardware_profile_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HardwareProfileViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    hardware_profile_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The hardware profile, by its short name. */
                hardware_profile: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HardwareProfileView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    hardware_profile_put: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The hardware profile, by its short name. */
                hardware_profile: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HardwareProfile"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HardwareProfileView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    hardware_profile_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The hardware profile, by its short name. */
                hardware_profile: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    image_key_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageKeyViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    image_key_add: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImageKeyAddBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageKeyView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.image_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    image_key_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The key. */
                key_id: components["schemas"]["ImageName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageKeyView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    image_key_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The key. */
                key_id: components["schemas"]["ImageName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    image_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    image_register: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImageSpec"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.image_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    image_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The image, by its name in the catalogue. */
                image_id: components["schemas"]["ImageName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    image_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The image, by its name in the catalogue. */
                image_id: components["schemas"]["ImageName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImageUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    image_upload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The image, by its name in the catalogue. */
                image_id: components["schemas"]["ImageName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": unknown;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.image_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    image_retire: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The image, by its name in the catalogue. */
                image_id: components["schemas"]["ImageName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    ingress_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The way in. */
                ingress_id: components["schemas"]["IngressId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IngressView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    ingress_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The way in. */
                ingress_id: components["schemas"]["IngressId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    member_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The membership. */
                member_id: components["schemas"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    member_remove: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The membership. */
                member_id: components["schemas"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.last_admin"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    member_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The membership. */
                member_id: components["schemas"]["MemberId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.last_admin"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    operation_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    operation_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The operation. */
                operation_id: components["schemas"]["OperationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    pool_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    pool_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PoolCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference.lab_only"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    pool_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The pool. */
                pool_id: components["schemas"]["PoolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    pool_delete: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The pool. */
                pool_id: components["schemas"]["PoolId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    pool_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The pool. */
                pool_id: components["schemas"]["PoolId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PoolUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    priority_class_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PriorityClassViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    priority_class_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The priority class, by its short name. */
                priority_class: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PriorityClassView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    priority_class_put: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The priority class, by its short name. */
                priority_class: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PriorityClass"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PriorityClassView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    priority_class_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The priority class, by its short name. */
                priority_class: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    project_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    project_delete: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    project_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProjectUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    allocation_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    allocation_launch: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AllocationLaunchBody"];
            };
        };
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight.quota_exceeded.queue_missing"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference.lease_refused.image_unavailable.image_unfit.lab_only.not_for_sale"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    allocation_plan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AllocationLaunchBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.unknown_reference.lease_refused.image_unavailable.image_unfit.lab_only.not_for_sale"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    ingress_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IngressViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    ingress_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IngressCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IngressView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.state_conflict.request_in_flight.ingress_not_owned"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference.ingress_out_of_range"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    local_queue_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LocalQueueViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    local_queue_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The local queue, by its short name in the project. */
                local_queue: components["schemas"]["Slug"];
                /** @description The project it belongs to. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LocalQueueView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    local_queue_put: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The local queue, by its short name in the project. */
                local_queue: components["schemas"]["Slug"];
                /** @description The project it belongs to. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LocalQueue"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LocalQueueView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.governance_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    local_queue_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The local queue, by its short name in the project. */
                local_queue: components["schemas"]["Slug"];
                /** @description The project it belongs to. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    project_resume: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    ssh_key_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SshKeyViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    ssh_key_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SshKeyCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SshKeyView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.ssh_key_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    project_suspend: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    usage_list: {
        parameters: {
            query?: {
                /** @description From this moment on; from the beginning when absent. */
                from?: components["schemas"]["UtcTime"];
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
                /** @description Until before this moment; until now when absent. Nothing is counted beyond now, and nothing lies before `from`. */
                to?: components["schemas"]["UtcTime"];
            };
            header?: never;
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    workload_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    workload_submit: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The project. */
                project_id: components["schemas"]["ProjectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkloadSubmitBody"];
            };
        };
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight.quota_exceeded.queue_missing"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference.lease_refused.image_unavailable.image_unfit.lab_only.not_for_sale"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    region_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegionViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    region_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegionCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegionView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    region_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The region. */
                region_id: components["schemas"]["RegionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegionView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    region_delete: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The region. */
                region_id: components["schemas"]["RegionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    region_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The region. */
                region_id: components["schemas"]["RegionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegionUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegionView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    ingress_settings_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The region. */
                region_id: components["schemas"]["RegionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IngressSettingsView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    ingress_settings_set: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The region. */
                region_id: components["schemas"]["RegionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IngressSettingsBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IngressSettingsView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    ingress_settings_clear: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The region. */
                region_id: components["schemas"]["RegionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    service_account_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The person or service account. */
                principal_id: components["schemas"]["PrincipalId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrincipalView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    service_account_remove: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The person or service account. */
                principal_id: components["schemas"]["PrincipalId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.last_admin"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    session_show: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    session_create: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionCreateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    session_delete: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    session_oidc_start: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OidcStartBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OidcStartView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            403: components["responses"]["403.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.sign_in_unavailable"];
        };
    };
    sign_in_show: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    sku_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkuViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    sku_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SkuCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkuView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference.lab_only"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    sku_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The SKU. */
                sku_id: components["schemas"]["SkuId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkuView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    sku_delete: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The SKU. */
                sku_id: components["schemas"]["SkuId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.still_in_use"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    sku_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The SKU. */
                sku_id: components["schemas"]["SkuId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SkuUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkuView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.lab_only"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    slot_profile_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotProfileViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    slot_profile_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SlotProfileCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotProfileView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.lab_only"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    slot_profile_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The profile, by its short name. */
                profile: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotProfileView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    slot_profile_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The profile, by its short name. */
                profile: components["schemas"]["Slug"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SlotProfileUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotProfileView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    ssh_key_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The key. */
                ssh_key_id: components["schemas"]["SshKeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SshKeyView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    ssh_key_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The key. */
                ssh_key_id: components["schemas"]["SshKeyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    stream_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The stream. */
                stream_id: components["schemas"]["StreamId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    stream_recording: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The stream. */
                stream_id: components["schemas"]["StreamId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    tenant_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    tenant_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    tenant_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    tenant_delete: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    tenant_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TenantUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    member_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    member_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    project_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    project_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProjectCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    tenant_resume: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    service_account_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrincipalViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    service_account_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ServiceAccountCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PrincipalView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.name_taken.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    tenant_suspend: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    webhook_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    webhook_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The tenant. */
                tenant_id: components["schemas"]["TenantId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookCreatedView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference.webhook_refused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    token_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    token_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenCreateBody"];
            };
        };
        responses: {
            /** @description Created; `Location` says where. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenCreatedView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused.unknown_reference"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    token_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The token. */
                token_id: components["schemas"]["TokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    token_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The token. */
                token_id: components["schemas"]["TokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    webhook_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    webhook_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    webhook_update: {
        parameters: {
            query?: never;
            header: {
                /** @description The version that was read, as its `ETag` gave it. */
                "If-Match": components["parameters"]["IfMatchRequired"];
            };
            path: {
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookUpdateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.webhook_refused"];
            428: components["responses"]["428.version_required"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    webhook_delivery_list: {
        parameters: {
            query?: {
                /** @description How many items at most; 50 when absent. */
                page_size?: components["schemas"]["PageSize"];
                /** @description Where to go on. */
                page_token?: components["schemas"]["PageToken"];
                /** @description Only those that stand like this. */
                state?: components["schemas"]["DeliveryState"];
            };
            header?: never;
            path: {
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryViewPage"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.invalid_page_token"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    webhook_delivery_show: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The delivery. */
                delivery_id: components["schemas"]["WebhookDeliveryId"];
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryDetailView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    webhook_delivery_replay: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The delivery. */
                delivery_id: components["schemas"]["WebhookDeliveryId"];
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    webhook_replay: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookReplayBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    webhook_rotate_secret: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookRotateBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookCreatedView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    webhook_test: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @description The webhook. */
                webhook_id: components["schemas"]["WebhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    whoami: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoamiView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    workload_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description Versions that the reader has already: 304 while the object is at one of them. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path: {
                /** @description The workload. */
                workload_id: components["schemas"]["WorkloadId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadView"];
                };
            };
            304: components["responses"]["304"];
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    workload_cancel: {
        parameters: {
            query?: never;
            header: {
                /** @description Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key. */
                "Idempotency-Key": components["parameters"]["IdempotencyKey"];
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The workload. */
                workload_id: components["schemas"]["WorkloadId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; follow the operation at `Location` until it ends. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header.idempotency_key_missing"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict.request_in_flight"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            422: components["responses"]["422.idempotency_key_reused"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
    workload_explain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The workload. */
                workload_id: components["schemas"]["WorkloadId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadExplanationView"];
                };
            };
            400: components["responses"]["400.malformed_request.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable"];
        };
    };
    workload_priority: {
        parameters: {
            query?: never;
            header?: {
                /** @description Do this only if the object is still at this version. */
                "If-Match"?: components["parameters"]["IfMatchOptional"];
            };
            path: {
                /** @description The workload. */
                workload_id: components["schemas"]["WorkloadId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkloadPriorityBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkloadView"];
                };
            };
            400: components["responses"]["400.malformed_request.malformed_json.invalid_body.body_too_deep.invalid_parameter.invalid_header"];
            401: components["responses"]["401.unauthenticated.token_expired.token_revoked"];
            403: components["responses"]["403.forbidden.token_scope_too_narrow.csrf_refused"];
            404: components["responses"]["404.not_found"];
            408: components["responses"]["408.request_timeout"];
            409: components["responses"]["409.state_conflict"];
            412: components["responses"]["412.stale_version"];
            413: components["responses"]["413.body_too_large"];
            414: components["responses"]["414.uri_too_long"];
            415: components["responses"]["415.unsupported_media_type"];
            422: components["responses"]["422.unknown_reference"];
            429: components["responses"]["429.rate_limited"];
            431: components["responses"]["431.headers_too_large"];
            500: components["responses"]["500.internal"];
            503: components["responses"]["503.store_unavailable.outcome_unknown"];
        };
    };
}
