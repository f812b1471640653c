import Foundation
import TestSupport
import Testing

/// Runs before, after and around a run: what would run, what failed last, and again on a change.
@Suite("Dry runs and reruns")
struct RepeatedRunTests {
    private static let only = ["--only", "revenuecat/idempotency/duplicate-initial-purchase"]

    @Test func `a dry run lists the cases and starts nothing`() async throws {
        let folder = try TemporaryFolder()
        let profile = """
            assay: 1
            start: {command: "touch started"}
            endpoints: {revenuecat-webhook: POST /hook}
            """
        try folder.write(profile, to: "assay.yaml")
        let result = try await Program.run(["verify", "--dry-run"], folder: folder.path)
        #expect(result.status == 0)
        #expect(result.output.contains("would run "))
        #expect(result.output.contains("starts     touch started"))
        // What this profile cannot play is told with its reason.
        #expect(result.output.contains("not run "))
        #expect(result.output.contains("'reconcile'"))
        #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 98 })
        #expect(FileManager.default.contentsOfDirectory(folder.path) == ["assay.yaml"])
        let named = try await Program.run(
            ["verify", "--dry-run", "--verbose"] + Self.only,
            folder: folder.path
        )
        #expect(named.output.contains("revenuecat/idempotency/duplicate-initial-purchase/"))
        // A selection of nothing is an error here as well.
        let nothing = try await Program.run(
            ["verify", "--dry-run", "--only", "no/such"],
            folder: folder.path
        )
        #expect(nothing.status == 4)
    }

    @Test func `only failed cases rerun, with the seed of their run`() async throws {
        let folder = try TemporaryFolder()
        let outside = ["CI": ""]
        func run(_ words: [String], _ defect: String?) async throws -> Program.Result {
            let start = ExitCodeTests.start(defect)
            return try await Program.run(
                ["verify"] + words + start,
                folder: folder.path,
                environment: outside
            )
        }
        let none = try await run(["--rerun-failed"], nil)
        #expect(none.status == 2)
        #expect(none.errors.contains("run 'assay verify' first"))
        let two = ["--only", "revenuecat/smoke/first-purchase", "--seed", "7"]
        let red = try await run(two + Self.only, "no-dedupe")
        #expect(red.status == 1)
        #expect(folder.read(".assay/.gitignore") == "*\n")
        let again = try await run(["--rerun-failed", "--report", "json=r.json"], "no-dedupe")
        #expect(again.status == 1)
        #expect(again.errors.contains("2 cases · seed 7"))
        let green = try await run(["--rerun-failed"], nil)
        #expect(green.output.contains("2 passed"))
        let over = try await run(["--rerun-failed"], nil)
        #expect(over.status == 4)
        #expect(over.errors.contains("no case failed in the last run in this folder"))
        let both = try await run(["--rerun-failed"] + Self.only, nil)
        #expect(both.status == 2)
        try folder.write("{\"assay\": 9}", to: ".assay/last-run.json")
        let other = try await run(["--rerun-failed"], nil)
        #expect(other.status == 3)
        #expect(other.errors.contains("remove it and run again"))
    }

    @Test func `cases that an interrupted run did not reach stay remembered`() async throws {
        let folder = try TemporaryFolder()
        let outside = ["CI": ""]
        func run(_ words: [String], _ defect: String?) async throws -> Program.Result {
            try await Program.run(
                ["verify"] + words + ExitCodeTests.start(defect),
                folder: folder.path,
                environment: outside
            )
        }
        #expect(try await run(Self.only, "no-dedupe").status == 1)
        let both = folder.read(".assay/last-run.json") ?? ""
        #expect(both.contains("copies:2") && both.contains("copies:8"))
        let fast = ["--rerun-failed", "--fail-fast", "--jobs", "1"]
        #expect(try await run(fast, "no-dedupe").status == 1)
        let still = folder.read(".assay/last-run.json") ?? ""
        #expect(still.contains("copies:2") && still.contains("copies:8"))
        // One that is not among the contracts that are given stays, and is told.
        try folder.write(
            both.replacing("copies:8", with: "copies:800"),
            to: ".assay/last-run.json"
        )
        let part = try await run(["--rerun-failed"], nil)
        #expect(part.errors.contains("1 of 2 failed cases are not in these contracts"))
        let left = folder.read(".assay/last-run.json") ?? ""
        #expect(left.contains("copies:800") && !left.contains("copies:2\""))
    }

    @Test(
        "a run of some cases keeps the other failed cases in the list",
        arguments: [["--only", "revenuecat/smoke/first-purchase"], ["--skip", "*e*"]]
    )
    func keepsList(selection: [String]) async throws {
        let folder = try TemporaryFolder()
        let failed = #"{"assay": 1, "seed": "7", "failed": ["other/case"]}"#
        try folder.write(failed, to: ".assay/last-run.json")
        let run = try await Program.run(
            ["verify", "--seed", "8"] + selection + ExitCodeTests.start(nil),
            folder: folder.path,
            environment: ["CI": ""]
        )
        #expect([0, 4, 5].contains(run.status), "\(run)")
        let list = folder.read(".assay/last-run.json") ?? ""
        #expect(list.contains("other/case"))
        // The seed of the failed case stays, because no case of this run failed.
        #expect(list.contains("\"7\""))
    }

    @Test func `cases that pass leave the list, and others stay`() async throws {
        let folder = try TemporaryFolder()
        let smoke = "revenuecat/smoke/first-purchase"
        let failed = #"{"assay": 1, "seed": "7", "failed": ["\#(smoke)", "other/case"]}"#
        try folder.write(failed, to: ".assay/last-run.json")
        _ = try await Program.run(
            ["verify", "--only", smoke] + ExitCodeTests.start(nil),
            folder: folder.path,
            environment: ["CI": ""]
        )
        let list = folder.read(".assay/last-run.json") ?? ""
        #expect(list.contains("other/case") && !list.contains(smoke))
    }

    @Test func `an inconclusive case stays in the list`() async throws {
        let folder = try TemporaryFolder()
        // The backend has no probe that shows the result of this case.
        let id = "revenuecat/safety-net/transfer-moves-access"
        let failed = #"{"assay": 1, "seed": "7", "failed": ["\#(id)"]}"#
        try folder.write(failed, to: ".assay/last-run.json")
        let run = try await Program.run(
            ["verify", "--only", id] + ExitCodeTests.start(),
            folder: folder.path,
            environment: ["CI": ""]
        )
        #expect(run.status == 5)
        #expect(folder.read(".assay/last-run.json")?.contains(id) == true)
    }

    @Test func `init writes a .gitignore for the generated files`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program.run(["init"] + ExitCodeTests.start(nil), folder: folder.path)
        #expect(result.status == 0, "\(result)")
        #expect(folder.read(".assay/.gitignore") == "*\n")
        #expect(
            FileManager.default.contentsOfDirectory(folder.path).sorted()
                == [".assay", "assay.yaml"]
        )
    }

    @Test func `the control API listens at the address in the variable`() async throws {
        let folder = try TemporaryFolder()
        let program = try Program(
            ["verify", "--keep"] + Self.only + ExitCodeTests.start(nil),
            folder: folder.path,
            environment: ["CI": "", "ASSAY_LISTEN": "control=127.0.0.1:0"]
        )
        #expect(try await program.tells("Ctrl-C"), "\(program.errorsSoFar)")
        #expect(!program.errorsSoFar.contains(":9300"))
        program.signal(SIGINT)
        #expect(await program.wait().status == 0)
    }

    @Test func `a dry run with unreadable contracts fails`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("contract: [", to: "mine/bad.yaml")
        let result = try await Program.run(
            ["verify", "--dry-run", "--start", "x", "--contracts", "mine"] + Self.only,
            folder: folder.path
        )
        #expect(result.status == 3)
        #expect(result.output.contains("would run 2"))
    }

    @Test func `own output files trigger no rerun, and an empty watch list is an error`()
        async throws
    {
        let folder = try TemporaryFolder()
        let none = try await Program.run(
            ["verify", "--watch", "--target", "http://127.0.0.1:1"] + Self.only,
            folder: folder.path
        )
        #expect(none.status == 2)
        #expect(none.errors.contains("--watch finds no file"))
        // There before the run, or there would be nothing to watch.
        try folder.write("x", to: "server.js")
        let program = try Program(
            // Endings of what people write, and another spelling.
            [
                "verify", "--watch", "--baseline", "known.txt", "--report", "html=./r.html",
                "--found", "./found",
            ]
                + Self.only + ExitCodeTests.start("no-dedupe"),
            folder: folder.path,
            environment: ["CI": ""]
        )
        let isWatching = try await program.tells("watching ")
        #expect(isWatching)
        try folder.write("xy", to: "server.js")
        let hasSeen = try await program.tells("changed: ")
        #expect(hasSeen)
        // The first change that is seen is the person's, and none of the files of the run.
        #expect(program.errorsSoFar.contains("changed: server.js\n"))
        program.signal(SIGINT)
        _ = await program.wait()
    }

    @Test func `a failed CI run and a passing run leave no files`()
        async throws
    {
        for (defect, ci) in [("no-dedupe", "true"), (nil, "")] as [(String?, String)] {
            let folder = try TemporaryFolder()
            let result = try await Program.run(
                ["verify"] + Self.only + ExitCodeTests.start(defect),
                folder: folder.path,
                environment: ["CI": ci]
            )
            #expect((result.status == 1) == (defect != nil))
            #expect(FileManager.default.contentsOfDirectory(folder.path) == [])
        }
    }

    @Test func `a change to a watched file reruns the suite`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("no-dedupe", to: "defect.py")
        let profile = """
            assay: 1
            start:
              command: >-
                exec '\(Program.path)' backend --port {{port}} --data '{{data}}' --defect "$(cat defect.py)"
            """
        try folder.write(profile, to: "assay.yaml")
        let program = try Program(
            ["verify", "--watch"] + Self.only,
            folder: folder.path,
            environment: ["CI": ""]
        )
        func summaries() -> Int {
            program.outputSoFar.components(separatedBy: "\nsummary").count - 1
        }
        let isWatching = try await program.tells("watching 2 files")
        #expect(isWatching)
        #expect(program.outputSoFar.contains("FAIL"))
        // What the tool itself leaves, and what is hidden, is no change.
        try folder.write("x", to: ".hidden/y.py")
        try folder.write("authorization-any-case", to: "defect.py")
        let isChanged = try await program.tells("changed: defect.py\n")
        #expect(isChanged)
        let hasRunAgain = try await program.comesTo { summaries() == 2 }
        #expect(hasRunAgain)
        // A profile in the middle of being written ends nothing.
        try folder.write("assay: 1\nstart: {", to: "assay.yaml")
        let isTold = try await program.tells("assay.yaml:")
        #expect(isTold)
        try folder.write(profile, to: "assay.yaml")
        let hasRunOnceMore = try await program.comesTo { summaries() == 3 }
        #expect(hasRunOnceMore)
        let waits = try await program.comesTo {
            program.errorsSoFar.hasSuffix("press Ctrl-C to end\n")
        }
        #expect(waits)
        program.signal(SIGINT)
        let result = await program.wait()
        #expect(result.status == 0 || result.status == 1)
    }
}

extension FileManager {
    fileprivate func contentsOfDirectory(_ path: String) -> [String] {
        (try? contentsOfDirectory(atPath: path)) ?? []
    }
}
