import Foundation
import TestSupport
import Testing

@testable import AssayCLI

/// `.env` beside a profile, as a backend's own libraries read it.
@Suite("A .env file next to the profile")
struct DotEnvTests {
    /// What the profile's command prints of a variable, when it is started.
    private static func seen(
        _ text: String?,
        _ environment: [String: String] = [:],
        in place: String = ""
    ) async throws -> String {
        let folder = try TemporaryFolder()
        if let text { try folder.write(text, to: place + ".env") }
        try folder.write(
            """
            assay: 1
            start:
              command: printf '<%s>' "$ONESIGNAL_API_KEY" > '\(folder.path)/seen'; exit 3
            secrets: {onesignal-key: "${TOKEN:-none}"}
            """,
            to: place + "assay.yaml"
        )
        let result = try await Program.run(
            ["verify", "--profile", place + "assay.yaml"],
            folder: folder.path,
            environment: environment
        )
        #expect(result.status == 6, "\(result.errors)")
        return folder.read("seen") ?? ""
    }

    @Test(
        "a name in the profile is replaced by the value in the .env file",
        arguments: [
            ("TOKEN=abc", "<abc>"), ("export TOKEN=abc\n", "<abc>"), ("TOKEN = a b ", "<a b>"),
            ("# TOKEN=x\nTOKEN=abc # why", "<abc>"), ("TOKEN=a#b", "<a#b>"),
            ("TOKEN='a # \"b'", "<a # \"b>"), ("TOKEN=\"a \\\"b\\\" # c\" # d", "<a \"b\" # c>"),
            ("TOKEN='open", "<open>"), ("not a line\n=x\n9T=y\nTOKEN=abc\r\n", "<abc>"),
            ("TOKEN=\"a\n b\"\nX=1", "<a\n b>"), ("X=1\nTOKEN='1\n2'\n", "<1\n2>"),
            ("\u{feff}TOKEN=abc", "<abc>"),
            ("OTHER=x", "<none>"), ("TOKEN=", "<none>"),
        ]
    )
    func named(text: String, seen: String) async throws {
        #expect(try await Self.seen(text) == seen)
    }

    @Test(
        "a large file with an unclosed quotation mark is read in one pass",
        arguments: ["OPEN=\"", "OPEN='"]
    )
    func open(line: String) async throws {
        let text = line + "\n" + String(repeating: "K=v\n", count: 200_000) + "TOKEN=abc\n"
        #expect(try await Self.seen(text) == "<abc>")
    }

    @Test func `lint reads the .env file as a run does`() async throws {
        let folder = try TemporaryFolder()
        let profile = """
            assay: 1
            start: {command: x}
            secrets: {onesignal-key: "${ONLY_THERE}"}
            """
        try folder.write(profile, to: "place/assay.yaml")
        let lint = ["lint", "place/assay.yaml"]
        let without = try await Program.run(lint, folder: folder.path)
        #expect(without.status == 3)
        #expect(without.output.contains("ONLY_THERE is not set"), "\(without.output)")
        try folder.write("ONLY_THERE=x", to: "place/.env")
        #expect(try await Program.run(lint, folder: folder.path).status == 0)
    }

    @Test func `the environment overrides the .env file, which is next to the profile`()
        async throws
    {
        #expect(try await Self.seen("TOKEN=file", ["TOKEN": "own"]) == "<own>")
        #expect(try await Self.seen("TOKEN=file", in: "sub/") == "<file>")
        #expect(try await Self.seen(nil) == "<none>")
    }

    private static let file = """
        # comment
        export TOKEN="a\\nb" # more
        KEY='-----BEGIN-----
        x
        -----END-----'
        N=9223372036854775807
        EMPTY=
        """

    @Test("every malformed .env file is read without a crash", arguments: EdgeValues.seeds)
    func edges(seed: UInt64) async {
        var edges = EdgeValues(seed: seed, text: "env")
        for _ in 0..<EdgeValues.inputCount(500, divisor: 4) {
            let bytes = edges.changed(text: Array(Self.file.utf8))
            let isInTime = await EdgeValues.run(bytes) {
                _ = DotEnv.parse(String(decoding: bytes, as: UTF8.self))
            }
            #expect(isInTime)
        }
        #expect(EdgeValues.isWithinMemory)
    }

    @Test("a file under env-file sets the variables of the backend")
    func environmentFile() async throws {
        let folder = try TemporaryFolder()
        try folder.write("A=file\nB=file\nC='x y'\n", to: "sub/local.env")
        func run(_ file: String) async throws -> Program.Result {
            try folder.write(
                """
                assay: 1
                start:
                  command: printf '%s-%s-%s' "$A" "$B" "$C" > '\(folder.path)/seen'; exit 3
                  env-file: \(file)
                  env: {B: profile}
                """,
                to: "sub/assay.yaml"
            )
            return try await Program.run(
                ["verify", "--profile", "sub/assay.yaml"],
                folder: folder.path,
                environment: ["A": "shell"]
            )
        }
        let result = try await run("local.env")
        #expect(result.status == 6, "\(result.errors)")
        #expect(folder.read("seen") == "shell-profile-x y")
        let missing = try await run("none.env")
        #expect(missing.status == 2)
        #expect(missing.errors.contains("'sub/none.env' under 'start: env-file'"), "\(missing)")
    }
}
