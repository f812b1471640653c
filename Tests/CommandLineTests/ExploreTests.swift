import Foundation
import TestSupport
import Testing

/// Lives that nobody wrote down, as somebody at a prompt or in CI meets them.
@Suite("Exploring customer histories")
struct ExploreTests {
    private static let profile = """
        assay: 1
        endpoints: {purchasely-webhook: POST /api/webhooks/purchasely}
        secrets: {purchasely-signing: purchasely-assay}
        features: {except: [push, restart, subscriber-reads, reconcile]}
        probes:
          user: {get: "/test/users/{{id}}"}
          subscription:
            get: "/test/subscriptions/{{id}}"
            read: {access: /access, product: /product_id, expires: /expiration_at_ms}

        """

    /// What lies in a folder, in order.
    private static func names(_ path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    private func explore(
        _ words: [String],
        _ defect: String? = nil,
        in folder: TemporaryFolder
    ) async throws -> Program.Result {
        try folder.write(Self.profile, to: "assay.yaml")
        return try await Program.run(
            // Others are tested beside it.
            ["explore"] + words + (words.contains("--jobs") ? [] : ["--jobs", "3"])
                + ExitCodeTests.start(defect),
            folder: folder.path
        )
    }

    @Test func `a correct backend passes every history and a corpus is saved`() async throws {
        let folder = try TemporaryFolder()
        let words = ["--histories", "40", "--seed", "1", "--corpus", "corpus"]
        let result = try await explore(words, in: folder)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(result.output.contains("40 histories in "))
        #expect(result.output.contains("coverage"))
        #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
        let histories = Self.names(folder.path + "/corpus/histories")
        #expect(histories.count > 10)
        // The same seed, the same lives, however the machine is.
        let other = try TemporaryFolder()
        _ = try await explore(words + ["--jobs", "2"], in: other)
        #expect(Self.names(other.path + "/corpus/histories") == histories)
        // What was kept is played first, and what another version wrote is told and left alone.
        try folder.write("history 0\nperson ada\n", to: "corpus/histories/old.history")
        let again = try await explore(["--histories", "20", "--corpus", "corpus"], in: folder)
        #expect(again.status == 0, "\(again.output)\(again.errors)")
        #expect(again.errors.contains("1 corpus file of another version"))
        #expect(folder.read("corpus/histories/old.history") == "history 0\nperson ada\n")
    }

    @Test func `a failing history is shrunk and its contract fails by itself`()
        async throws
    {
        let folder = try TemporaryFolder()
        let result = try await explore(
            [
                "--histories", "150", "--seed", "1", "--corpus", "corpus", "--report",
                "json=r.json",
                // However busy the machine is, there is time to make it small.
                "--fail-fast", "--shrink-time", "20m",
            ],
            "cancellation-revokes",
            in: folder
        )
        #expect(result.status == 1, "\(result.output)\(result.errors)")
        let found = Self.names(folder.path + "/corpus/found")
        let name = try #require(found.first)
        let text = try #require(folder.read("corpus/found/" + name))
        #expect(text.contains("CANCELLATION"))
        // Somebody buys and cancels: nothing else is needed.
        #expect(text.split(separator: "\n").count { $0.contains("- deliver:") } <= 3)
        let report = try #require(folder.read("r.json"))
        #expect(report.contains("\"verdict\": \"failed\""))
        for (defect, status) in [("cancellation-revokes", Int32(1)), (nil, 0)] {
            let again = try await Program.run(
                ["verify", "corpus/found"] + ExitCodeTests.start(defect),
                folder: folder.path
            )
            #expect(again.status == status, "\(again.output)\(again.errors)")
        }
    }

    @Test func `corpora can be merged`() async throws {
        let folder = try TemporaryFolder()
        for part in ["1/2", "2/2"] {
            let result = try await explore(
                [
                    "--histories", "15", "--seed", "1", "--shard", part, "--corpus",
                    "c" + part.prefix(1),
                ],
                in: folder
            )
            #expect(result.status == 0, "\(result.output)\(result.errors)")
        }
        let files = { (name: String) in Self.names(folder.path + "/\(name)/histories") }
        #expect(Set(files("c1")).isDisjoint(with: files("c2")))
        let merged = try await Program.run(
            ["merge", "--corpus", "all", "c1", "c2"],
            folder: folder.path
        )
        #expect(merged.status == 0, "\(merged.errors)")
        #expect(files("all").count == files("c1").count + files("c2").count)
        let nothing = try await Program.run(
            ["merge", "--corpus", "all", "nowhere"],
            folder: folder.path
        )
        #expect(nothing.status == 2)
        #expect(nothing.errors.contains("is not a corpus"))
    }

    @Test(
        "wrong usage is reported before anything starts",
        arguments: [
            (["--only", "transfusions"], Int32(2), "neither an operation nor a fault"),
            (["--for", "soon"], 2, "is not a duration"), (["--histories", "0"], 2, "--histories"),
            (["--corpus", "/dev/null/x"], 2, "cannot write the corpus"),
            (["--shard", "3/2"], 2, "is not a shard"),
        ]
    )
    func wrongUsage(words: [String], status: Int32, text: String) async throws {
        let folder = try TemporaryFolder()
        let result = try await explore(words, in: folder)
        #expect(result.status == status)
        #expect(result.errors.contains(text), "\(result.errors)")
    }

    @Test func `requested faults that the profile does not support are reported`() async throws {
        let folder = try TemporaryFolder()
        for (name, reason) in [("sign-up", "accounts"), ("crash", "restart")] {
            let result = try await explore(["--histories", "5", "--only", name], in: folder)
            #expect(result.status == 4, "\(result.output)\(result.errors)")
            #expect(result.errors.contains(reason), "\(result.errors)")
        }
    }

    @Test func `app histories are the same in every process`() async throws {
        let folder = try TemporaryFolder()
        let words = ["explore", "--app", "--scripted", "--histories", "200", "--seed", "x"]
        var covered: Set<String> = []
        for _ in 0..<2 {
            let result = try await Program.run(words + ["--coverage"], folder: folder.path)
            #expect(result.status == 0, "\(result.output)\(result.errors)")
            let lines = result.output.split(separator: "\n").map(String.init)
            let end = lines.firstIndex { $0.hasPrefix("coverage over time") } ?? lines.endIndex
            // What it says of time differs.
            covered.insert(lines[..<end].filter { !$0.contains(" in ") }.joined(separator: "\n"))
        }
        #expect(covered.count == 1)
    }

    @Test func `app histories are saved as contracts and reused by the next campaign`() async throws
    {
        let folder = try TemporaryFolder()
        let words = ["explore", "--app", "--scripted", "--corpus", "corpus"]
        let start = ["--histories", "60", "--seed", "1"]
        let first = try await Program.run(words + start, folder: folder.path)
        #expect(first.status == 0, "\(first.output)\(first.errors)")
        let kept = Self.names(folder.path + "/corpus/phones")
        #expect(kept.count > 20)
        // What is kept covers all that was played: played anew it is nothing new.
        let histories = ["--histories", "\(kept.count)", "--seed", "2"]
        let again = try await Program.run(words + histories, folder: folder.path)
        #expect(again.status == 0, "\(again.output)\(again.errors)")
        #expect(Self.names(folder.path + "/corpus/phones") == kept)
        let defect = ["--histories", "\(kept.count)", "--defect", "never-unlocks", "--fail-fast"]
        let found = try await Program.run(words + defect, folder: folder.path)
        #expect(found.status == 1, "\(found.output)\(found.errors)")
        #expect(!Self.names(folder.path + "/corpus/found").isEmpty)
        let joined = try await Program.run(
            ["merge", "--corpus", "all", "corpus"],
            folder: folder.path
        )
        #expect(joined.output.hasPrefix("all: "), "\(joined.output)\(joined.errors)")
        #expect(Self.names(folder.path + "/all/phones").count > kept.count)
        try folder.write("contract: [\n", to: "corpus/phones/a.yaml")
        let broken = try await Program.run(words + ["--histories", "1"], folder: folder.path)
        #expect(broken.status == 3)
        #expect(broken.errors.contains("corpus/phones/a.yaml:"))
    }

    @Test func `a broken app invariant is found and its file reproduces it`()
        async throws
    {
        let folder = try TemporaryFolder()
        let defect = ["--scripted", "--defect", "answer-unread"]
        let result = try await Program.run(
            ["explore", "--app", "--histories", "150", "--seed", "1", "--fail-fast"] + defect,
            folder: folder.path
        )
        #expect(result.status == 1, "\(result.output)\(result.errors)")
        let found = Self.names(folder.path + "/.assay/found")
        #expect(!found.isEmpty)
        for (words, status) in [(defect, Int32(1)), (["--scripted"], 0)] {
            let again = try await Program.run(
                ["app", ".assay/found"] + words,
                folder: folder.path
            )
            #expect(again.status == status, "\(again.output)\(again.errors)")
        }
    }

    @Test func `a backend that accepts no event is reported before the first history`() async throws
    {
        let folder = try TemporaryFolder()
        let profile = "endpoints: {revenuecat-webhook: POST /nowhere}"
        try folder.write(
            Self.profile.replacing(
                "endpoints: {purchasely-webhook: POST /api/webhooks/purchasely}",
                with: profile
            ),
            to: "assay.yaml"
        )
        let result = try await Program.run(
            ["explore", "--histories", "5"] + ExitCodeTests.start(),
            folder: folder.path
        )
        #expect(result.status == 6, "\(result.output)\(result.errors)")
        #expect((result.output + result.errors).contains("/nowhere"))
    }

    @Test func `an unreadable corpus file is an error`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("history 1\noperation 0 -1d ada eat\n", to: "corpus/histories/a.history")
        let result = try await explore(["--histories", "5", "--corpus", "corpus"], in: folder)
        #expect(result.status == 3)
        #expect(result.errors.contains("line 2"))
        #expect(result.errors.contains("'eat' is not an operation"))
    }
}
