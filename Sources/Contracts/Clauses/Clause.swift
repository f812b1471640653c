/// A numbered requirement for backends or apps, such as S-03.
///
/// A clause has a reason, the usual ways to violate it (`faults`), and a correct design.
///
/// Source: clause catalogue; identity rules, parts B and C.
package struct Clause: Hashable, Sendable {
    package let name: String
    /// The title of the clause: a few words that say what a correct backend or app does.
    package let title: String
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
        title: String,
        requirement: String,
        rationale: String,
        faults: [String],
        correctDesign: String,
        source: String
    ) {
        self.name = name
        self.title = title
        self.requirement = requirement
        self.rationale = rationale
        self.faults = faults
        self.correctDesign = correctDesign
        self.source = source
    }

    /// All clauses for backends and apps: first those about subscriptions, then those about other
    /// services, accounts and apps.
    ///
    /// The files in `contracts/clauses` define them.
    package static let all: [Clause] = {
        let families = Array("SPFOAC")
        return families.flatMap { family in embedded.filter { $0.name.first == family } }
    }()

    /// Returns the clause with a name such as `S-03`, in upper or lower case, or nil when the
    /// catalogue does not contain it.
    package static func named(_ name: String) -> Clause? {
        let name = name.uppercased()
        return all.first { $0.name == name }
    }
}
