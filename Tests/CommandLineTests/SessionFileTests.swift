import Foundation
import Testing
import TestSupport

/// Where the files of a session go.
@Suite("Files of recorded and imported sessions")
struct SessionFileTests {
    private static let recording = Repository.root
        .appendingPathComponent("recordings/revenuecat")

    @Test func `a golden is written next to its recording`() async throws {
        let shipped = try #require(
            FileManager.default.enumerator(atPath: Self.recording.path)?
                .compactMap { $0 as? String }.sorted().first { $0.hasSuffix("recording.ndjson") }
        )
        let text = try String(
            contentsOf: Self.recording.appendingPathComponent(shipped),
            encoding: .utf8
        )
        let folder = try TemporaryFolder()
        for place in ["elsewhere/shop/buy", "recordings/shop/buy"] {
            try folder.write(text, to: place + "/recording.ndjson")
            let result = try await Program.run(["distill", place], folder: folder.path)
            #expect(result.status == 0, "\(result.errors)")
            #expect(folder.read(place + "/golden.yaml.new")?.contains("shop/buy/golden") == true)
            let out = place.split(separator: "/")[0]
            #expect(result.errors.contains("review \(out)\n"))
        }
        let asked = try await Program.run(
            ["distill", "elsewhere/shop/buy", "--out", "mine"],
            folder: folder.path
        )
        #expect(asked.status == 0)
        #expect(folder.read("mine/shop/buy/golden.yaml.new") != nil)
    }

    @Test func `fakes for a container are printed with the given host`() async throws {
        let result = try await Program.run([
            "verify", "--advertise", "fakes.example", "--start",
            "echo $ONESIGNAL_API_BASE $REVENUECAT_API_BASE; exit 3",
        ])
        #expect(result.status == 6)
        let words = result.errors.split(whereSeparator: \.isWhitespace)
        let told = words.filter { $0.hasPrefix("http://") }
        #expect(told.count == 2)
        #expect(told.allSatisfy { $0.hasPrefix("http://fakes.example:") })
    }

    @Test func `a started backend does not receive the control API token`() async throws {
        let result = try await Program.run(
            ["verify", "--start", "echo \"token <$ASSAY_CONTROL_TOKEN> <$KEPT>\"; exit 3"],
            environment: ["ASSAY_CONTROL_TOKEN": "let-me-in", "KEPT": "kept"]
        )
        #expect(result.errors.contains("token <> <kept>"))
    }

    @Test func `an import without responses is sent again, and one with responses is kept`()
        async throws
    {
        let names = ["control", "revenuecat", "onesignal", "firebase", "purchasely", "despia"]
        let listen = names.flatMap { ["--listen", "\($0)=127.0.0.1:0"] }
        let serve = try Program(["serve", "--quiet"] + listen)
        defer { serve.signal(SIGTERM) }
        let isReady = try await serve.tells("ready")
        #expect(isReady)
        let line = serve.outputSoFar.split(separator: "\n").first { $0.hasPrefix("onesignal") }
        let target = try #require(line?.split(separator: " ").last.map(String.init))
        let folder = try TemporaryFolder()
        try folder.write("curl http://127.0.0.1:1/players/1\n", to: "c.txt")
        let path = "made/x/recording.ndjson"
        func run(_ words: [String] = []) async throws -> Program.Result {
            try await Program.run(["import", "c.txt", "made/x"] + words, folder: folder.path)
        }
        #expect(try await run().status == 0)
        #expect(try await run().status == 2)
        let first = folder.read(path)
        // Nobody answers there: what was there is not lost.
        #expect(try await run(["--target", "http://127.0.0.1:1"]).status == 6)
        #expect(folder.read(path) == first)
        #expect(try await run(["--target", target]).status == 0)
        let answered = folder.read(path)
        #expect(answered != first)
        #expect(try await run(["--target", target]).status == 2)
        #expect(folder.read(path) == answered)
    }
}
