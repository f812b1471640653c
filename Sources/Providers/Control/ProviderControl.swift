internal import Grammar
package import Values

/// An operation on the fake of one provider in the control API (`/assay/v1`).
///
/// A user, a test or the command line calls it.
///
/// The control API routes the call, reads and checks the body, describes the operation, and returns
/// the deliveries that follow. The provider only defines the operation's effect.
package struct ProviderControl: Sendable {
    /// A call of a control API operation, after its body was read and checked.
    package struct Call: Sendable {
        /// The value of the parameter in the request's path; empty when the path has no parameter.
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

        /// Returns a string member of the request body; nil when the member is missing or empty.
        package func text(_ name: String) -> String? {
            body[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// The function that carries out an operation on the state of the fakes.
    ///
    /// It leaves the state unchanged when it throws.
    package typealias Handler =
        @Sendable (inout Services, Call, Instant) throws(ControlRefusal) -> JSONObject

    /// The ID of the operation in the description of the control API.
    package let id: String
    package let method: String
    /// The operation's path below `/assay/v1`.
    ///
    /// A name in braces matches one path segment, and `{name+}` matches one or two.
    package let path: String
    package let summary: String
    package let parameters: [ControlParameter]
    package let members: [ControlMember]
    /// The valid values of the parameter in the operation's path.
    ///
    /// If the list is empty, any string is valid.
    package let pathValues: [ControlPathValue]
    /// Whether the operation may cause webhook events.
    ///
    /// If so, the operation's response contains the deliveries of these events, and its body
    /// accepts the member `settle`.
    package let sendsEvents: Bool
    package let handler: Handler

    package init(
        _ id: String,
        _ method: String,
        _ path: String,
        _ summary: String,
        parameters: [ControlParameter] = [],
        members: [ControlMember] = [],
        pathValues: [ControlPathValue] = [],
        sendsEvents: Bool = false,
        handler: @escaping Handler
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
        self.pathValues = pathValues
        self.members = sendsEvents ? members + [.settle] : members
        self.sendsEvents = sendsEvents
        self.handler = handler
    }
}

/// A query parameter of a control API operation, with its description.
package struct ControlParameter: Hashable, Sendable {
    package let name: String
    package let summary: String

    package init(_ name: String, _ summary: String) {
        self.name = name
        self.summary = summary
    }
}

/// A valid value of the parameter in an operation's path, with a description of its effect.
package struct ControlPathValue: Hashable, Sendable {
    package let name: String
    package let summary: String

    package init(_ name: String, _ summary: String) {
        self.name = name
        self.summary = summary
    }
}

extension ControlRefusal {
    /// Returns the 404 response for a path value that is not one of `pathValues`.
    ///
    /// Its hint suggests the nearest value and lists all of them.
    package static func unknownName(
        _ actionName: String,
        _ owner: String,
        among pathValues: [ControlPathValue]
    ) -> ControlRefusal {
        let names = pathValues.map(\.name)
        let suggestion = Suggestion.nearest(to: actionName, among: names).map {
            "did you mean '\($0)'? "
        }
        return ControlRefusal(
            404,
            "\(owner) has no action '\(actionName)'",
            hint: (suggestion ?? "") + "the valid actions are " + names.joined(separator: ", ")
        )
    }
}
