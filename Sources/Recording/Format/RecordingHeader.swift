package import Values

/// The first line of a recording file: the version of Assay that wrote the file, the recorded
/// backend and the redaction rules.
package struct RecordingHeader: Hashable, Sendable {
    /// The version of the recording format that this version of Assay writes and reads.
    package static let format: Int64 = 2

    package var version: String
    package var began: Instant
    /// The host and port of the recorded backend, without credentials.
    package var target: String
    package var seed: String
    /// The names of headers, JSON members and parameters that the profile of the backend declares
    /// secret.
    ///
    /// Their values were redacted in addition to those that the built-in rules redact.
    package var redaction: [String] = []
    /// The maximum length in bytes of a recorded body.
    ///
    /// A longer body is recorded as its length and digest only.
    package var bodyMax: Int
    /// The routes of the backend, such as `POST /path`, by endpoint name.
    ///
    /// They are the webhook of each provider and the other endpoints in the profile of the backend.
    package var endpoints: [String: String] = [:]

    package init(
        version: String,
        began: Instant,
        target: String,
        seed: String = "0",
        bodyMax: Int = 1 << 20
    ) {
        self.version = version
        self.began = began
        self.target = target
        self.seed = seed
        self.bodyMax = bodyMax
    }

    package var json: JSONValue {
        [
            "assay": "recording", "format": .integer(Self.format), "version": .string(version),
            "began": .string(began.preciseText), "target": .string(target), "seed": .string(seed),
            "redaction": .strings(["default"] + redaction),
            "bound": ["body": .integer(Int64(bodyMax))],
            "endpoints": .object(
                JSONObject(
                    members: endpoints.sorted { $0.key < $1.key }.map {
                        .init(key: $0.key, value: .string($0.value))
                    }
                )
            ),
        ]
    }

    init(_ value: JSONValue, line: Int) throws(RecordingError) {
        guard value["assay"]?.string == "recording" else {
            throw RecordingError(
                line: line,
                problem: "this is not the header of a recording",
                remedy: "Pass a file that 'assay record' wrote, or convert it with 'assay import'."
            )
        }
        guard let format = value["format"]?.int64, format == Self.format else {
            throw RecordingError(
                line: line,
                problem: "the recording has format \(value["format"]?.text ?? "unknown"), "
                    + "but this version of assay reads format \(Self.format)",
                remedy: "Use the version of assay that wrote the file ("
                    + "\(value["version"]?.string ?? "unknown")), or record the session again."
            )
        }
        guard let began = value["began"]?.string.flatMap({ Instant(iso8601: $0) }) else {
            throw RecordingError(
                line: line,
                problem: "'began' is not a date",
                remedy: .restoreRemedy
            )
        }
        self.init(
            version: value["version"]?.string ?? "",
            began: began,
            target: value["target"]?.string ?? "",
            seed: value["seed"]?.string ?? "0",
            bodyMax: value["bound"]?["body"]?.int64.map { Int(clamping: $0) } ?? 1 << 20
        )
        redaction = value["redaction"]?.strings.filter { $0 != "default" } ?? []
        for member in value["endpoints"]?.object?.members ?? [] {
            endpoints[member.key] = member.value.string
        }
    }
}
