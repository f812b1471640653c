internal import Conformance
internal import Exploration

/// The operations and faults that `explore --only` selects; an empty set selects all.
struct LifeSelection: Sendable {
    let acts: Set<Act.Kind>
    let disturbances: Set<Disturbance.Kind>

    private static let actNames = Act.Kind.allCases.map(\.rawValue)
    private static let disturbanceNames = Disturbance.Kind.allCases.map(\.rawValue)
    static let names = actNames + disturbanceNames

    /// Parses the values of `--only`.
    ///
    /// - Parameter texts: Names of operations and faults, separated by commas; a plural such as
    ///   `refunds` is accepted.
    /// - Throws: A usage failure for an unknown name.
    init(_ texts: [String]) throws {
        var acts: Set<Act.Kind> = []
        var disturbances: Set<Disturbance.Kind> = []
        for text in texts.flatMap({ $0.split(separator: ",").map(String.init) }) {
            let name = [text, String(text.dropLast())].first { Self.names.contains($0) }
            guard let name, name == text || text.hasSuffix("s") else {
                let near = Suggestion.nearest(to: text, among: Self.names)
                throw Failure(
                    .usage,
                    "--only '\(text)' is neither an operation nor a fault"
                        + (near.map { "; did you mean '\($0)'?" } ?? "")
                        + "\n       operations: " + Self.actNames.joined(separator: ", ")
                        + "\n       faults: " + Self.disturbanceNames.joined(separator: ", ")
                )
            }
            // `register` is the name of an operation and of a fault, which repeats a registration.
            if let act = Act.Kind(rawValue: name) { acts.insert(act) }
            if let kind = Disturbance.Kind(rawValue: name) { disturbances.insert(kind) }
        }
        guard texts.isEmpty || !acts.isEmpty || !disturbances.isEmpty else {
            throw Failure(.usage, "--only '' is empty; name an operation or a fault")
        }
        (self.acts, self.disturbances) = (acts, disturbances)
    }

    /// Checks that the profile supports every selected operation and fault.
    ///
    /// - Throws: A failure with the name of the operation or fault, and the feature that the
    ///   backend lacks.
    func check(_ means: Means, _ profile: Profile) throws {
        let needs =
            acts.sorted { $0.rawValue < $1.rawValue }.map { ($0.rawValue, $0.needs) }
            + disturbances.sorted().map { ($0.rawValue, $0.needs) }
        for (name, features) in needs {
            guard let missing = features.first(where: { !means.features.contains($0) }) else {
                continue
            }
            let reason =
                profile.obstacle(to: missing)
                ?? "only a backend that Assay starts can be restarted"
            throw Failure(.nothingSelected, "--only \(name): \(reason)")
        }
    }

    func applied(to options: LifeGenerator.Options) -> LifeGenerator.Options {
        var options = options
        options.kinds = acts
        options.disturbances = disturbances
        return options
    }
}
