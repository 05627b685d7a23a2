//! What is sold.

text_enum! {
    /// The form capacity is sold in. Shared shapes are not in this list until every layer can carry them.
    CapacityShape {
        /// A whole node, exclusively.
        Baremetal = "baremetal",
        /// Whole GPUs of one node, in a virtual machine.
        GpuSlice = "gpu_slice",
    }
}
