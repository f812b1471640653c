package import Conformance
package import Providers

/// Reads a live service and the fake alike, and says where their answers differ in shape.
///
/// Nothing but `GET` is called, and only operations that the service's description lists.
package struct DriftReading: Sendable {
    /// What became of one operation.
    package struct Line: Sendable {
        package enum Outcome: Sendable {
            case alike
            case differs([AnswerShape.Difference])
            case status(live: Int, fake: Int)
            /// Not asked, or not to be read; in words.
            case unseen(String)
        }

        package let operation: ServiceOperation
        package let outcome: Outcome
    }

    /// Calls one of the two.
    package typealias Call =
        @Sendable (HTTPMessage.Request) async -> Result<HTTPMessage.Response, Unreachable>

    /// Why no answer came.
    package struct Unreachable: Error, Sendable {
        package let text: String

        package init(_ text: String) { self.text = text }
    }

    private let reading: LiveReading
    private let operations: [ServiceOperation]

    /// - Parameters:
    ///   - reading: How the service is read.
    ///   - operations: Its inventory.
    package init(_ reading: LiveReading, of operations: [ServiceOperation]) {
        self.reading = reading
        self.operations = operations.filter {
            $0.method == "GET" && $0.standing == .served && $0.isDescribed
        }
    }

    /// Reads both sides.
    ///
    /// - Parameters:
    ///   - given: Names that the user knows, for the live side.
    ///   - fakeGiven: The same for the fake.
    ///   - live: Calls the service.
    ///   - fake: Calls the fake.
    ///   - progress: Is told of each operation before it is asked for.
    /// - Returns: A line for each operation.
    /// - Throws: When one of the two gives no answer at all.
    package func compare(
        given: [String: String],
        fakeGiven: [String: String],
        live: Call,
        fake: Call,
        progress: (ServiceOperation) -> Void = { _ in }
    ) async throws(Unreachable) -> [Line] {
        let known = try await values(given, live)
        let own = try await values(fakeGiven, fake)
        var lines: [Line] = []
        for operation in operations {
            progress(operation)
            lines.append(
                Line(
                    operation: operation,
                    outcome: try await outcome(operation, known, own, live, fake)
                )
            )
        }
        return lines
    }

    private func outcome(
        _ operation: ServiceOperation,
        _ known: [String: String],
        _ own: [String: String],
        _ live: Call,
        _ fake: Call
    ) async throws(Unreachable) -> Line.Outcome {
        let template = operation.path + (reading.queries[operation.path] ?? "")
        guard let target = Self.filled(template, known) else {
            return .unseen("nothing of the live service is known to ask it about")
        }
        guard let ownTarget = Self.filled(template, own) else {
            return .unseen("the fake has nothing to ask it about")
        }
        let there = try await live(HTTPMessage.Request("GET", target)).get()
        let here = try await fake(HTTPMessage.Request("GET", ownTarget)).get()
        if there.status == 429 { return .unseen("the live service said 429: too many calls") }
        if [401, 403].contains(there.status), there.status != here.status {
            return .unseen("the live service said \(there.status): the key has no right to it")
        }
        guard there.status == here.status else {
            return .status(live: there.status, fake: here.status)
        }
        guard let theirs = try? JSONValue(parsing: there.body),
            let ours = try? JSONValue(parsing: here.body)
        else { return .unseen("an answer is no JSON") }
        let open = reading.openMembers
        let found = AnswerShape(theirs, openMembers: open)
            .differences(
                from: AnswerShape(ours, openMembers: open),
                optional: reading.absentWhenUnset
            )
        return found.isEmpty ? .alike : .differs(found)
    }

    /// The names of paths, from what is given and what lists hold.
    private func values(
        _ given: [String: String],
        _ call: Call
    ) async throws(Unreachable) -> [String: String] {
        var values = given
        for source in reading.sources where values[source.name] == nil {
            guard let target = Self.filled(source.path, values) else { continue }
            let response = try await call(HTTPMessage.Request("GET", target)).get()
            guard response.status < 300, let body = try? JSONValue(parsing: response.body) else {
                continue
            }
            let found = source.pointers.compactMap { JSONPointer($0).flatMap { body[$0]?.string } }
            if let value = found.first { values[source.name] = value }
        }
        return values
    }

    /// A path with values in the place of its names; nil where one is not known.
    private static func filled(_ template: String, _ values: [String: String]) -> String? {
        var filled = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{"), let close = rest.firstIndex(of: "}") {
            let name = String(rest[rest.index(after: open)..<close])
            guard let value = values[name] else { return nil }
            filled += rest[..<open] + value.percentEncoded
            rest = rest[rest.index(after: close)...]
        }
        return filled + rest
    }
}
