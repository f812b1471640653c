package import Conformance

/// What a person, a test or the command line can do to one provider's fake: an operation of the
/// control API below `/assay/v1`.
///
/// The control API routes it, reads and checks the body, describes it, and shows the deliveries
/// that follow; the provider only says what happens.
package struct ProviderControl: Sendable {
    /// One call, read and checked.
    package struct Call: Sendable {
        /// What stands in the place of the path's brace; empty when it has none.
        package let value: String
        package let body: JSONObject
        package let query: [(name: String, value: String)]

        package init(
            value: String,
            body: JSONObject,
            query: [(name: String, value: String)] = []
        ) {
            self.value = value
            self.body = body
            self.query = query
        }

        /// The text of that name; nil when it is missing or empty.
        package func text(_ name: String) -> String? {
            body[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// Changes nothing when it throws.
    package typealias Work =
        @Sendable (inout Services, Call, Instant) throws(ControlRefusal) -> JSONObject

    /// Its name in the description of the API.
    package let id: String
    package let method: String
    /// Below `/assay/v1`; a name in braces stands for one segment, `{name+}` for one or two.
    package let path: String
    package let summary: String
    package let parameters: [ControlParameter]
    package let members: [ControlMember]
    /// What may stand in the place of the path's brace; empty: any text.
    package let words: [ControlWord]
    /// Whether events may follow, which the answer then shows; such an operation takes `settle`.
    package let tells: Bool
    package let work: Work

    package init(
        _ id: String,
        _ method: String,
        _ path: String,
        _ summary: String,
        parameters: [ControlParameter] = [],
        members: [ControlMember] = [],
        words: [ControlWord] = [],
        tells: Bool = false,
        work: @escaping Work
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
        self.words = words
        self.members = tells ? members + [.settle] : members
        self.tells = tells
        self.work = work
    }
}

/// A parameter of the query.
package struct ControlParameter: Hashable, Sendable {
    package let name: String
    package let summary: String

    package init(_ name: String, _ summary: String) {
        self.name = name
        self.summary = summary
    }
}

/// A word that may stand in the place of a path's brace, and what it does.
package struct ControlWord: Hashable, Sendable {
    package let name: String
    package let summary: String

    package init(_ name: String, _ summary: String) {
        self.name = name
        self.summary = summary
    }
}

extension ControlRefusal {
    /// A word that stands where none of these does.
    package static func unknown(
        _ word: String,
        _ owner: String,
        among words: [ControlWord]
    ) -> ControlRefusal {
        let names = words.map(\.name)
        let near = Suggestion.nearest(to: word, among: names).map { "did you mean '\($0)'? " }
        return ControlRefusal(
            404,
            "\(owner) knows no '\(word)'",
            hint: (near ?? "") + "there are " + names.joined(separator: ", ")
        )
    }
}
