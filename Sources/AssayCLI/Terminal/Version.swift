/// The version of Assay, which reports and `--version` print.
let assayVersion = "0.1.0"
