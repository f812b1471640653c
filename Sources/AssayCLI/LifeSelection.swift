internal import Conformance
internal import Exploration

/// What `--only` of `explore` leaves: some acts, some disturbances, or all of either.
struct LifeSelection: Sendable {
    let acts: Set<Act.Kind>
    let disturbances: Set<Disturbance.Kind>

    private static let actNames = Act.Kind.allCases.map(\.rawValue)
    private static let disturbanceNames = Disturbance.Kind.allCases.map(\.rawValue)
    static let names = actNames + disturbanceNames

    /// - Parameter texts: Names, several between commas, in the plural if people like.
    /// - Throws: A failure of usage for a name that is none.
    init(_ texts: [String]) throws {
        var acts: Set<Act.Kind> = []
        var disturbances: Set<Disturbance.Kind> = []
        for text in texts.flatMap({ $0.split(separator: ",").map(String.init) }) {
            let name = [text, String(text.dropLast())].first { Self.names.contains($0) }
            guard let name, name == text || text.hasSuffix("s") else {
                let near = Suggestion.nearest(to: text, among: Self.names)
                throw Failure(
                    .usage,
                    "--only '\(text)' is no act and no disturbance"
                        + (near.map { "; did you mean '\($0)'?" } ?? "")
                        + "\n       acts: " + Self.actNames.joined(separator: ", ")
                        + "\n       disturbances: " + Self.disturbanceNames.joined(separator: ", ")
                )
            }
            // The app registers as an act of its own, and beside a delivery.
            if let act = Act.Kind(rawValue: name) { acts.insert(act) }
            if let kind = Disturbance.Kind(rawValue: name) { disturbances.insert(kind) }
        }
        guard texts.isEmpty || !acts.isEmpty || !disturbances.isEmpty else {
            throw Failure(.usage, "--only '' names nothing")
        }
        (self.acts, self.disturbances) = (acts, disturbances)
    }

    /// Nothing is left out in silence.
    ///
    /// - Throws: A failure that says what the profile lacks for one of the names.
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
