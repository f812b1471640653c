internal import Contracts
internal import Exploration
internal import Grammar

/// The operations and faults that `explore --only` selects; an empty set selects all.
struct HistorySelection: Sendable {
    let operations: Set<HistoryOperation.Kind>
    let faults: Set<HistoryFault.Kind>

    private static let operationNames = HistoryOperation.Kind.allCases.map(\.rawValue)
    private static let faultNames = HistoryFault.Kind.allCases.map(\.rawValue)
    static let operationAndFaultNames = operationNames + faultNames

    /// Parses the values of `--only`.
    ///
    /// - Parameter texts: Names of operations and faults, separated by commas; a plural such as
    ///   `refunds` is accepted.
    /// - Throws: A usage failure for an unknown name.
    init(_ texts: [String]) throws {
        var operations: Set<HistoryOperation.Kind> = []
        var faults: Set<HistoryFault.Kind> = []
        for text in texts.flatMap({ $0.split(separator: ",").map(String.init) }) {
            let name = [text, String(text.dropLast())].first {
                Self.operationAndFaultNames.contains($0)
            }
            guard let name, name == text || text.hasSuffix("s") else {
                let nearestName = Suggestion.nearest(to: text, among: Self.operationAndFaultNames)
                throw CommandFailure(
                    .usage,
                    "--only '\(text)' is neither an operation nor a fault"
                        + (nearestName.map { "; did you mean '\($0)'?" } ?? "")
                        + "\n       operations: " + Self.operationNames.joined(separator: ", ")
                        + "\n       faults: " + Self.faultNames.joined(separator: ", ")
                )
            }
            // `register` names an operation (a registration) and also a fault (a repeated
            // registration), so both are selected.
            if let operation = HistoryOperation.Kind(rawValue: name) {
                operations.insert(operation)
            }
            if let kind = HistoryFault.Kind(rawValue: name) { faults.insert(kind) }
        }
        guard texts.isEmpty || !operations.isEmpty || !faults.isEmpty else {
            throw CommandFailure(.usage, "--only '' is empty; name an operation or a fault")
        }
        (self.operations, self.faults) = (operations, faults)
    }

    /// Checks that the profile supports every selected operation and fault.
    ///
    /// - Throws: A failure with the name of the operation or fault, and the feature that the
    ///   backend lacks.
    func checkSupport(_ capabilities: Capabilities, _ profile: Profile) throws {
        let needs =
            operations.sorted { $0.rawValue < $1.rawValue }.map { ($0.rawValue, $0.needs) }
            + faults.sorted().map { ($0.rawValue, $0.needs) }
        for (name, features) in needs {
            guard
                let missingFeature = features.first(where: { !capabilities.features.contains($0) })
            else {
                continue
            }
            let reason =
                profile.skipReason(to: missingFeature)
                ?? "only a backend that Assay starts can be restarted"
            throw CommandFailure(.nothingSelected, "--only \(name): \(reason)")
        }
    }

    func applied(to options: HistoryGenerator.Options) -> HistoryGenerator.Options {
        var options = options
        options.kinds = operations
        options.faults = faults
        return options
    }
}
