internal import Foundation
internal import Yams

// Writes a Swift file that is compiled into the binary.
// Arguments: `files` or `clauses`, the output file, the root folder, and the input files.
//
// `files` embeds the given text files. `clauses` creates the clauses that YAML files define.
func contents(_ path: String) throws -> String {
    try String(contentsOf: URL(fileURLWithPath: path), encoding: .utf8)
}

/// Returns a Swift file with the given text files.
func embeddedFiles(_ paths: [String], root: String) throws -> String {
    var text = """
        /// The files of the folder `contracts`, embedded at build time: their paths in the folder,
        /// and their contents.
        enum EmbeddedContracts {
            static let files: [(path: String, text: String)] = [

        """
    for path in paths {
        let name = path.hasPrefix(root) ? String(path.dropFirst(root.count)) : path
        text += "        (\"\(name)\", ####\"\"\"\n\(try contents(path))\n\"\"\"####),\n"
    }
    return text + "    ]\n}\n"
}

/// A clause as its YAML file defines it.
struct ClauseNode: Decodable {
    let name: String
    let title: String
    let requirement: String
    let reason: String
    let faults: [String]
    let design: String
    let source: String

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case name, title, requirement, reason, faults, design, source
    }

    /// Any key, to find keys that no clause has.
    private struct AnyKey: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        title = try container.decode(String.self, forKey: .title)
        requirement = try container.decode(String.self, forKey: .requirement)
        reason = try container.decode(String.self, forKey: .reason)
        faults = try container.decode([String].self, forKey: .faults)
        design = try container.decode(String.self, forKey: .design)
        source = try container.decode(String.self, forKey: .source)
        let keys = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
        for key in keys where CodingKeys(stringValue: key) == nil {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "unknown key '\(key)'")
            )
        }
    }

    /// The Swift expression that creates the clause.
    var expression: String {
        let faultList = faults.map(Self.literal).joined(separator: ", ")
        return """
                    Clause(
                        \(Self.literal(name)),
                        title: \(Self.literal(title)),
                        requirement: \(Self.literal(requirement)),
                        rationale: \(Self.literal(reason)),
                        faults: [\(faultList)],
                        correctDesign: \(Self.literal(design)),
                        source: \(Self.literal(source))
                    ),

            """
    }

    private static func literal(_ text: String) -> String { "####\"\(text)\"####" }
}

/// Returns a Swift file with the clauses of the given YAML files.
func embeddedClauses(_ paths: [String]) throws -> String {
    var text = """
        extension Clause {
            /// The clauses of the folder `contracts/clauses`, embedded at build time.
            static let embedded: [Clause] = [

        """
    for path in paths {
        let file = try YAMLDecoder().decode([String: [ClauseNode]].self, from: contents(path))
        guard let clauses = file["clauses"], file.count == 1 else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "\(path) must have only the key 'clauses'")
            )
        }
        text += clauses.map(\.expression).joined()
    }
    return text + "    ]\n}\n"
}

let arguments = CommandLine.arguments
let root = URL(fileURLWithPath: arguments[3]).path + "/"
let paths = arguments.dropFirst(4).sorted()
let text =
    try arguments[1] == "clauses" ? embeddedClauses(paths) : embeddedFiles(paths, root: root)
try text.write(to: URL(fileURLWithPath: arguments[2]), atomically: true, encoding: .utf8)
