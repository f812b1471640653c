/// A numbered requirement for backends or apps, such as S-03.
///
/// A clause has a reason, the usual ways to violate it (`faults`), and a correct design.
///
/// Source: clause catalogue; identity rules, parts B and C.
package struct Clause: Hashable, Sendable {
    package let name: String
    /// The requirement of the clause, as one sentence.
    package let requirement: String
    /// The reason for the clause's requirement.
    package let rationale: String
    /// The usual ways to violate the clause; the contracts of the clause must detect each of them.
    package let faults: [String]
    /// A description of a correct implementation of the clause, for any programming language.
    package let correctDesign: String
    /// The source of the requirement: a page of the rules, and a section of a provider's fact
    /// sheet.
    package let source: String

    init(
        _ name: String,
        requirement: String,
        rationale: String,
        faults: [String],
        correctDesign: String,
        source: String
    ) {
        self.name = name
        self.requirement = requirement
        self.rationale = rationale
        self.faults = faults
        self.correctDesign = correctDesign
        self.source = source
    }

    /// All clauses for backends and apps, in the order of the catalogue.
    package static let all: [Clause] =
        webhook + entitlement + users + delivery + purchasely + firebase + notification + account
        + client

    /// Returns the clause with a name such as `S-03`, in upper or lower case, or nil when the
    /// catalogue does not contain it.
    package static func named(_ name: String) -> Clause? {
        let name = name.uppercased()
        return all.first { $0.name == name }
    }
}
