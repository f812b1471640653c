internal import Judging
internal import Values

/// Finds values in a recording that look like secrets, by the same rules that redact a recording
/// (`Redaction`).
///
/// A recording that was written by hand, edited, imported elsewhere or made by an older version may
/// contain values that the current rules would mask.
package enum RecordingCheck {
    /// A value in a recording that looks like a secret, so that the redaction rules would mask it.
    package struct Finding: Hashable, Sendable {
        /// The number of the exchange that contains the value, as numbered in the recording.
        package let sequence: Int
        /// The request line of the exchange, without secrets, such as `POST /login`.
        package let request: String
        /// The location of the value, such as `response body /user/token` or `request header
        /// authorization`.
        package let location: String
        /// The kind of secret that the value looks like, such as `token` or `mail`.
        package let kind: String
    }

    /// Finds the values of a recording that look like secrets.
    ///
    /// - Parameters:
    ///   - recording: The recording. The names that its header declares secret are used in addition
    ///     to `names`.
    ///   - names: Names of headers, JSON members and parameters that hold secrets.
    /// - Returns: The findings in the order of the exchanges.
    package static func findings(in recording: Recording, names: [String] = []) -> [Finding] {
        let redactor = Redactor(key: [], names: recording.header.redaction + names)
        return recording.exchanges.flatMap { exchange in
            findings(in: exchange, redactor.exchange(exchange))
        }
    }

    /// Finds the lines of a golden contract that seem to contain a secret.
    ///
    /// - Parameters:
    ///   - text: The content of the contract file.
    ///   - names: Names of headers, JSON members and parameters that hold secrets, in addition to
    ///     the built-in names.
    /// - Returns: The number of each such line, starting at 1, and the kind of secret in it.
    package static func lines(
        of text: String,
        names: [String] = []
    ) -> [(number: Int, kind: String)] {
        let redactor = Redactor(key: [], names: names)
        return text.exactLines.enumerated().compactMap { index, line in
            let redactedCopy = redactor.text(line)
            return redactedCopy == line ? nil : (index + 1, kind(of: redactedCopy, beyond: line))
        }
    }

    private static func findings(in exchange: Exchange, _ redactedCopy: Exchange) -> [Finding] {
        var changedValues: [(String, String)] = []
        func recordChange(_ location: String, _ before: String, _ after: String) {
            if before != after { changedValues.append((location, kind(of: after, beyond: before))) }
        }
        func recordChange(
            _ side: String,
            _ before: [HTTPMessage.Field],
            _ after: [HTTPMessage.Field]
        ) {
            for (before, after) in zip(before, after) {
                recordChange(
                    "\(side) header \(before.name.lowercased())",
                    before.value,
                    after.value
                )
            }
        }
        func recordChange(_ location: String, _ before: [UInt8], _ after: [UInt8]) {
            guard before != after else { return }
            let values = (JSONValue(ifValid: before), JSONValue(ifValid: after))
            guard case (let left?, let right?) = values else {
                let text = String(decoding: before, as: UTF8.self)
                return recordChange(location, text, String(decoding: after, as: UTF8.self))
            }
            for difference in left.differences(from: right) {
                let pointer = difference.pointer
                recordChange(
                    "\(location) \(pointer)",
                    left[pointer]?.text ?? "",
                    right[pointer]?.text ?? ""
                )
            }
        }
        recordChange("target", exchange.request.target, redactedCopy.request.target)
        recordChange("request", exchange.request.fields, redactedCopy.request.fields)
        recordChange("request body", exchange.request.body, redactedCopy.request.body)
        if let before = exchange.response, let after = redactedCopy.response {
            recordChange("response", before.fields, after.fields)
            recordChange("response body", before.body, after.body)
        }
        for (before, after) in zip(exchange.effects, redactedCopy.effects) {
            recordChange("message", before.content.bytes, after.content.bytes)
        }
        return changedValues.map { location, kind in
            Finding(
                sequence: exchange.sequence,
                request: "\(redactedCopy.request.method) \(redactedCopy.request.target)",
                location: location,
                kind: kind
            )
        }
    }

    /// Returns the kind of the first placeholder that redaction inserted into a string.
    ///
    /// `before` is the string before redaction, and `after` is the string after redaction.
    private static func kind(of after: String, beyond before: String) -> String {
        let earlierPlaceholders = Set(Placeholder.all(in: before).map(\.text))
        return Placeholder.all(in: after).first { !earlierPlaceholders.contains($0.text) }?.kind
            ?? "secret"
    }
}
