/// A request of the app, written out, and the answer that must come: what a session becomes when it
/// is distilled into a golden contract.
///
/// Text in it may hold the templates of `TemplateValues`.
package struct AppRequest: Hashable, Codable, Sendable {
    package enum Body: Hashable, Codable, Sendable {
        case json(JSONValue)
        case text(String)
    }

    package var name: String
    package var method: String
    /// Path and query.
    package var target: String
    package var fields: [HTTPMessage.Field] = []
    package var body: Body?
    package var answer: AnswerPattern?

    package init(name: String, method: String, target: String) {
        self.name = name
        self.method = method
        self.target = target
    }

    /// The users whose ids stand in the request, in order of appearance.
    package var users: [String] {
        let texts: [String] =
            switch body {
            case .json(let value): [value.text]
            case .text(let text): [text]
            case nil: []
            }
        return TemplateValues.users(in: [target] + fields.map(\.value) + texts)
    }
}

/// What an answer must look like: its status, and the parts of its body that mean something.
///
/// Objects are open, members that the pattern does not name are allowed; arrays are closed.
package struct AnswerPattern: Hashable, Codable, Sendable {
    package var status: Int
    package var fields: [HTTPMessage.Field] = []
    package var body: AppRequest.Body?
    package var location: SourceLocation
    /// Where each place of a JSON body stands in the file, by pointer.
    package var places: [String: SourceLocation] = [:]

    package init(status: Int, location: SourceLocation) {
        self.status = status
        self.location = location
    }
}

/// Where a golden contract comes from, and how long it may be trusted.
package struct Provenance: Hashable, Codable, Sendable {
    /// The moment of the recording.
    package var recorded: Instant
    /// After this long the services may have changed, and the session should be recorded again.
    package var ageMax: Duration?
    package var location: SourceLocation

    package init(recorded: Instant, ageMax: Duration?, location: SourceLocation) {
        self.recorded = recorded
        self.ageMax = ageMax
        self.location = location
    }

    package func isExpired(at now: Instant) -> Bool {
        ageMax.map { recorded + $0 < now } ?? false
    }
}
