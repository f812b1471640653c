internal import Conformance

/// What looks secret in a recording, by the law that took the secrets out of it (`Redaction`).
///
/// A recording that was written by hand, edited, imported elsewhere or made by an older version may
/// hold what today's law would not let through.
package enum RecordingCheck {
    /// One place that the law would mask.
    package struct Finding: Hashable, Sendable {
        /// The exchange that it stands in, as the recording numbers them.
        package let sequence: Int
        /// `POST /login`, without what looks secret.
        package let request: String
        /// `answer body /user/token`, `request header authorization`.
        package let place: String
        /// What it is taken for: `token`, `mail`.
        package let kind: String
    }

    /// - Parameters:
    ///   - recording: With the names that its header declares secret.
    ///   - names: Further names of headers, members and parameters that hold secrets.
    /// - Returns: Every place, in the order of the exchanges.
    package static func findings(in recording: Recording, names: [String] = []) -> [Finding] {
        let redactor = Redactor(key: [], names: recording.header.redaction + names)
        return recording.exchanges.flatMap { exchange in
            findings(in: exchange, redactor.exchange(exchange))
        }
    }

    /// The lines of a golden contract that look secret, with what each is taken for.
    ///
    /// - Parameters:
    ///   - text: The contract as a file.
    ///   - names: Further names of headers, members and parameters that hold secrets.
    /// - Returns: Each line by its number, which counts from one.
    package static func lines(
        of text: String,
        names: [String] = []
    ) -> [(number: Int, kind: String)] {
        let redactor = Redactor(key: [], names: names)
        return text.exactLines.enumerated().compactMap { index, line in
            let clean = redactor.text(line)
            return clean == line ? nil : (index + 1, kind(of: clean, beyond: line))
        }
    }

    private static func findings(in exchange: Exchange, _ clean: Exchange) -> [Finding] {
        var places: [(String, String)] = []
        func compare(_ place: String, _ before: String, _ after: String) {
            if before != after { places.append((place, kind(of: after, beyond: before))) }
        }
        func compare(_ side: String, _ before: [HTTPMessage.Field], _ after: [HTTPMessage.Field]) {
            for (before, after) in zip(before, after) {
                compare("\(side) header \(before.name.lowercased())", before.value, after.value)
            }
        }
        func compare(_ place: String, _ before: [UInt8], _ after: [UInt8]) {
            guard before != after else { return }
            let values = (try? JSONValue(parsing: before), try? JSONValue(parsing: after))
            guard case (let left?, let right?) = values else {
                let text = String(decoding: before, as: UTF8.self)
                return compare(place, text, String(decoding: after, as: UTF8.self))
            }
            for difference in left.differences(from: right) {
                let pointer = difference.pointer
                compare(
                    "\(place) \(pointer)",
                    left[pointer]?.text ?? "",
                    right[pointer]?.text ?? ""
                )
            }
        }
        compare("target", exchange.request.target, clean.request.target)
        compare("request", exchange.request.fields, clean.request.fields)
        compare("request body", exchange.request.body, clean.request.body)
        if let before = exchange.response, let after = clean.response {
            compare("answer", before.fields, after.fields)
            compare("answer body", before.body, after.body)
        }
        for (before, after) in zip(exchange.effects, clean.effects) {
            compare("message", before.content.bytes, after.content.bytes)
        }
        return places.map { place, kind in
            Finding(
                sequence: exchange.sequence,
                request: "\(clean.request.method) \(clean.request.target)",
                place: place,
                kind: kind
            )
        }
    }

    /// The kind of the first mark that was not there before.
    private static func kind(of after: String, beyond before: String) -> String {
        let known = Set(Placeholder.all(in: before).map(\.text))
        return Placeholder.all(in: after).first { !known.contains($0.text) }?.kind ?? "secret"
    }
}
