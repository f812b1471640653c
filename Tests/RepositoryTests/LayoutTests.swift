import ContractFiles
import Contracts
import Foundation
import Phone
import ReferenceBackend
import Testing
import TestSupport

/// The layout rules of the design, as tests; each failure says what to do.
@Suite("Repository")
struct LayoutTests {
    @Test func `the top level stays as agreed`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path)
            .filter { !$0.hasPrefix(".") }
        let agreed: Set = [
            "Package.swift", "Package.resolved", "Sources", "Tests", "contracts", "recordings",
            "README.md", "LICENSE",
        ]
        #expect(Set(names).subtracting(agreed).isEmpty, "move it below Sources or Tests")
    }

    @Test func `CI runs every acceptance test`() throws {
        let patterns = Repository.text(of: ".ci/run").split(separator: "'")
            .filter { $0.hasPrefix("test_") && $0.hasSuffix(".py") }.map(String.init)
        #expect(!patterns.isEmpty)
        let folder = Repository.root.appendingPathComponent("Tests/Acceptance").path
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where name.hasPrefix("test_") && name.hasSuffix(".py") {
            let isPlayed = patterns.contains { fnmatch($0, name, 0) == 0 }
            #expect(isPlayed, "\(name) is matched by no pattern of .ci/run: \(patterns)")
        }
    }

    @Test(
        "a module imports what the architecture allows",
        arguments: [
            ("Values", ["NIOConcurrencyHelpers"]),
            ("Grammar", ["Values"]),
            ("Redaction", ["Values"]),
            ("Contracts", ["Grammar", "Providers", "Redaction", "Values"]),
            ("Judging", ["Contracts", "Grammar", "Providers", "Redaction", "Values"]),
            (
                "Providers",
                [
                    "Grammar", "Redaction", "Values", "Crypto", "CryptoExtras", "DequeModule",
                    "Foundation", "HashTreeCollections", "SwiftASN1",
                    "Synchronization", "X509",
                ]
            ),
            (
                "ContractFiles",
                ["Contracts", "Grammar", "Providers", "Values", "Yams", "Dispatch", "Foundation"]
            ),
            ("Reports", ["Contracts", "Judging", "Providers", "Redaction", "Values"]),
            ("Exploration", ["Contracts", "Grammar", "Judging", "Providers", "Values"]),
            (
                "FakeServers",
                [
                    "Contracts", "Grammar", "Providers", "Redaction", "Values", "NIOCore",
                    "NIOHTTP1", "NIOPosix", "NIOSSL", "NIOTLS", "NIOConcurrencyHelpers",
                    "Synchronization", "Glibc", "Darwin",
                ]
            ),
            ("Phone", ["Contracts", "Grammar", "Judging", "Providers", "Values"]),
            ("Programs", ["Values", "Foundation", "Glibc", "Darwin", "Synchronization"]),
            (
                "Browser",
                ["Programs", "Values", "Foundation", "Synchronization", "Glibc", "Darwin"]
            ),
            (
                "Replay",
                [
                    "Browser", "Contracts", "Exploration", "FakeServers", "Grammar", "Judging",
                    "Phone", "Programs", "Providers", "Redaction", "Values", "AsyncHTTPClient",
                    "NIOCore", "NIOHTTP1", "NIOPosix", "Foundation", "Glibc", "Darwin",
                    "NIOEmbedded", "NIOHTTPCompression", "NIOSSL",
                ]
            ),
            (
                "Recording",
                [
                    "ContractFiles", "Contracts", "FakeServers", "Grammar", "Judging", "Programs",
                    "Providers", "Redaction", "Replay", "Values", "NIOCore", "NIOHTTP1", "NIOPosix",
                    "NIOSSL", "NIOEmbedded", "NIOWebSocket", "Dispatch", "Foundation", "Glibc",
                    "Darwin",
                ]
            ),
            (
                "ReferenceBackend",
                [
                    "AsyncHTTPClient", "Crypto", "CryptoExtras", "Foundation", "GRDB", "HTTPTypes",
                    "Hummingbird", "Logging", "NIOCore", "NIOHTTP1", "NIOConcurrencyHelpers",
                ]
            ),
        ] as [(String, [String])]
    )
    func importsWhatIsAllowed(module: String, allowed: [String]) {
        for (path, text) in Repository.files(below: "Sources/\(module)") {
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"), index <= 1,
                    words.count == index + 2
                else { continue }
                let name = String(words[index + 1])
                #expect(allowed.contains(name), "\(path) imports \(name); the picture does not")
            }
        }
    }

    @Test func `a third-party type stays inside its module`() {
        let owned = ["Yams", "GRDB", "AsyncHTTPClient", "Hummingbird", "ArgumentParser", "Crypto"]
        for (path, text) in Repository.files(below: "Sources") {
            for name in owned {
                #expect(!text.contains("package import \(name)\n"), "\(path): \(name) leaks")
                #expect(!text.contains("public import \(name)\n"), "\(path): \(name) leaks")
            }
        }
    }

    @Test func `no two types outside other types share a name`() {
        let declaration =
            /^(?:(?:package|private|fileprivate|final|indirect) )*(?:struct|class|enum|protocol|actor|typealias) (\w+)/
        var pathsByName: [String: [String]] = [:]
        for line in Repository.lines(below: "Sources") {
            guard let name = line.text.firstMatch(of: declaration)?.output.1 else { continue }
            pathsByName[String(name), default: []].append(line.path)
        }
        #expect(pathsByName.count > 500)
        for (name, paths) in pathsByName {
            #expect(paths.count == 1, "\(name): \(paths)")
        }
    }

    @Test func `every rule has a test and a page`() {
        let sources = Repository.files(below: "Sources/Judging")
        let rules = sources.filter { $0.text.contains(": Rule {") }.map {
            URL(fileURLWithPath: $0.path).deletingPathExtension().lastPathComponent
        }
        #expect(rules.count >= 5)
        let tests = Repository.files(below: "Tests/JudgingTests").map(\.text).joined()
        let pages = Repository.files(
            below: "Sources/AssayCLI/Assay.docc/Rules",
            ending: "md"
        )
        .map(\.path)
        for rule in rules {
            #expect(tests.contains("struct \(rule)Tests"), "write \(rule)Tests")
            #expect(pages.contains { $0.hasSuffix("/\(rule).md") }, "write Rules/\(rule).md")
        }
    }

    @Test func `every contract is in the folder of its family`() {
        for (path, text) in Repository.files(below: "contracts", ending: "yaml")
        where !path.hasPrefix("contracts/clauses/") {
            let id = String(path.dropFirst("contracts/".count).dropLast(".yaml".count))
            #expect(text.hasPrefix("contract: \(id)\n"), "\(path): the id must be the path")
        }
    }

    @Test func `no contract knows a literal id, path, currency or port`() {
        let forbidden = ["127.0.0.1", "localhost", "/api/", "EUR", "USD", "app_id", "93", "http:"]
        for (path, text) in Repository.files(below: "contracts", ending: "yaml")
        where !path.hasPrefix("contracts/clauses/") {
            for line in text.split(separator: "\n") where !line.hasPrefix("source:") {
                for word in forbidden {
                    #expect(!line.contains(word), "\(path) says '\(word)'")
                }
            }
        }
    }

    @Test func `every defect says what goes wrong and which clauses it breaks`() {
        #expect(Defect.allCases.count >= 25)
        for defect in Defect.allCases {
            #expect(!defect.summary.isEmpty)
            #expect(!defect.clauses.isEmpty)
            #expect(Defect(rawValue: defect.rawValue) == defect)
        }
        #expect(Set(Defect.allCases).count == Defect.allCases.count)
        #expect(
            Defect.identityGuideDefects.count == 25,
            "a name of the guide's list is spelt wrong"
        )
        for defect in ClientDefect.allCases {
            #expect(!defect.summary.isEmpty)
            #expect(!defect.clauses.isEmpty)
            #expect(ClientDefect(rawValue: defect.rawValue) == defect)
        }
        let names =
            Defect.allCases.map(\.rawValue) + ClientDefect.allCases.map(\.rawValue)
            + AccountApp.Defect.allCases.map(\.rawValue)
        #expect(Set(names).count == names.count, "a defect is selected by its name")
    }

    /// What people read along is a correct program; what goes wrong stands beside it.
    @Test(
        "the correct program reads as if no defect existed",
        arguments: [
            ("Sources/ReferenceBackend/", "/Defects/", 15),
            ("Sources/Phone/Scripted", "/ClientDefects/", 6),
            ("Sources/Phone/AccountApp", "/ClientDefects/", 1),
        ]
    )
    func readsCorrect(prefix: String, beside: String, countMin: Int) {
        let files = Repository.files(below: "Sources")
            .filter { $0.path.hasPrefix(prefix) && !$0.path.contains(beside) }
            // Here the app is chosen that a stage plays.
            .filter { !$0.path.hasSuffix("/ScriptedTarget.swift") }
        #expect(files.count >= countMin)
        for (path, text) in files {
            #expect(!text.lowercased().contains("defect"), "\(path): override it in \(beside)")
        }
    }

    /// The tables of mistakes in the documentation name what is there, and leave no row out.
    @Test func `every known mistake names its check, or the reason for having none`() throws {
        let url = Repository.root.appendingPathComponent(
            "Sources/AssayCLI/Assay.docc/Traps.md"
        )
        let text = try String(contentsOf: url, encoding: .utf8)
        let ids = Set(ContractLibrary.shipped.contracts.flatMap { [$0.id, $0.caseID] })
        var rows: [String: [String]] = [:]
        var section = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            guard line.hasPrefix("| "), !line.hasPrefix("| ---"), !line.hasPrefix("| # "),
                !line.hasPrefix("| event ")
            else { continue }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            rows[section, default: []].append(cells[0])
            let named = line.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }
                .map { String($0.element) }
            for id in named { #expect(ids.contains(id), "\(cells[0]): there is no contract \(id)") }
            let isExplained = line.contains("no contract: ")
            #expect(
                named.isEmpty == isExplained,
                "\(section) \(cells[0]): name one, or say why not"
            )
        }
        #expect(rows["RevenueCat"] == (1...40).map(String.init))
        #expect(rows["OneSignal"] == (1...22).map(String.init))
        #expect(rows["Purchasely"] == (1...20).map(String.init))
        #expect(
            rows["The published guide"] == (1...63).map { "X-" + ($0 < 10 ? "0" : "") + "\($0)" }
        )
        #expect(rows["Effect table"]?.count == 16)
    }

    /// The catalogue: every backend clause, at least two contracts for each that is a must.
    @Test func `every clause has its contracts and its defects`() {
        func names(_ letter: String, _ count: Int) -> [String] {
            (1...count).map { "\(letter)-" + ($0 < 10 ? "0" : "") + "\($0)" }
        }
        let app = names("C", 36)
        let catalogue =
            names("S", 34) + names("P", 10) + names("F", 10) + names("O", 5) + names("A", 12) + app
        let contracts = Dictionary(grouping: ContractLibrary.shipped.contracts, by: \.clause)
        let defects = Set(
            Defect.allCases.flatMap(\.clauses) + AccountApp.Defect.allCases.flatMap(\.clauses)
                + ClientDefect.allCases.flatMap(\.clauses)
        )
        let phoneIDs = Set((names("A", 12) + app).flatMap { contracts[$0] ?? [] }.map(\.id))
        #expect(phoneIDs.count >= 60)
        for clause in catalogue {
            let ids = Set(contracts[clause, default: []].map(\.id))
            let isMust = contracts[clause]?.contains { $0.level == .must } ?? false
            // The rules of the phone are one scenario each, where one is enough.
            let countMin = isMust && !["A", "C"].contains(clause.prefix(1)) ? 2 : 1
            #expect(ids.count >= countMin, "\(clause) has \(ids.count) contracts")
            #expect(defects.contains(clause), "no defect breaks \(clause)")
        }
        #expect(Set(contracts.keys).subtracting(catalogue).isEmpty)
        #expect(Set(ContractLibrary.shipped.contracts.map(\.id)).count >= 150)
        #expect(Defect.allCases.count >= 90)
    }

    @Test func `names describe their declarations`() {
        for (path, _) in Repository.files(below: "Sources") {
            for word in ["Manager", "Helper", "Utils", "Misc"] {
                #expect(!path.contains(word), "\(path): name the concept")
            }
        }
    }

    @Test func `a folder has at most 20 source files`() {
        let files = Repository.files(below: "Sources").map(\.path)
        let folders = Dictionary(grouping: files) { path in
            path.split(separator: "/").dropLast().joined(separator: "/")
        }
        #expect(folders.count > 50, "the sources were not found")
        for (folder, files) in folders {
            #expect(files.count <= 20, "\(folder) has \(files.count) files: divide it by subject")
        }
    }

    @Test func `values contain no real secret keys`() {
        let folders = ["contracts", "recordings", "Sources", "Tests"]
        let texts = folders.flatMap { folder in
            ["swift", "yaml", "json", "md"].flatMap { Repository.files(below: folder, ending: $0) }
        }
        for (path, text) in texts {
            for prefix in ["sk_" + "live_", "AKIA" + "I", "-----BEGIN " + "PRIVATE"] {
                #expect(!text.contains(prefix), "\(path) holds something like a credential")
            }
        }
    }

    @Test func `no source lets Foundation split a path, which traps for names of one letter`() {
        let lines = Repository.lines(below: "Sources")
        #expect(lines.count > 4000, "the sources were not found")
        for line in lines where line.text.contains("as NSString).") {
            #expect(Bool(false), "\(line.path):\(line.number): split the path with PathName")
        }
    }
}
