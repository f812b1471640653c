/// What a clause of the catalogue demands, and how a competent developer gets it wrong: its fault
/// model.
///
/// Source: clause catalogue; identity rules, parts B and C.
package struct Clause: Hashable, Sendable {
    package let name: String
    package let demand: String
    package let why: String
    /// The ways in which it goes wrong in the wild, which contracts have to tell apart.
    package let faults: [String]
    /// How to build it right, in any language.
    package let build: String
    /// Where the demand comes from, in the fact sheets.
    package let source: String

    init(
        _ name: String,
        demand: String,
        why: String,
        faults: [String],
        build: String,
        source: String
    ) {
        self.name = name
        self.demand = demand
        self.why = why
        self.faults = faults
        self.build = build
        self.source = source
    }

    /// Every clause that a backend or an app can be asked for, in the order of the catalogue.
    package static let all: [Clause] =
        webhook + entitlement + users + delivery + purchasely + firebase + notification + account
        + client

    /// The clause of that name, in any case; nil for one that the catalogue does not explain.
    package static func named(_ name: String) -> Clause? {
        let name = name.uppercased()
        return all.first { $0.name == name }
    }
}
