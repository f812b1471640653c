internal import ArgumentParser

@main
struct Assay: ParsableCommand {
    mutating func run() throws {
    }
}
