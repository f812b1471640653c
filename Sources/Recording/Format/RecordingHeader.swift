package import Conformance

/// The first line of a recording: what wrote it, about whom, and under which rules.
package struct RecordingHeader: Hashable, Sendable {
    /// The version of the format that this program writes and reads.
    package static let format: Int64 = 1

    package var version: String
    package var began: Instant
    /// The backend that was recorded; its host and port, never a credential.
    package var target: String
    package var seed: String
    /// The names of the redaction rules that were in force beyond the built-in ones.
    package var redaction: [String] = []
    /// Bodies longer than this are kept as length and digest alone, in bytes.
    package var bodyMax: Int
    /// Where the backend takes which provider's events, and its own routes: `POST /path` by name.
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
                problem: "this is no header of a recording",
                remedy: "Begin with the file that 'assay record' wrote, or use 'assay import'."
            )
        }
        guard let format = value["format"]?.int64, format == Self.format else {
            throw RecordingError(
                line: line,
                problem: "format \(value["format"]?.text ?? "unknown"), this assay reads "
                    + "\(Self.format)",
                remedy: "Use the assay that wrote it (version "
                    + "\(value["version"]?.string ?? "unknown")), or record again."
            )
        }
        guard let began = value["began"]?.string.flatMap({ Instant(iso8601: $0) }) else {
            throw RecordingError(line: line, problem: "'began' is no date", remedy: .restore)
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
