import Foundation
import TestSupport
import Testing

@testable import AssayCLI

/// The commit of the backend is read from the files of Git.
@Suite("Commit of a repository")
struct GitCommitTests {
    private static let commit = "0123456789abcdef0123456789abcdef01234567"

    private static let layouts: [([String: String], String)] = [
        ([".git/HEAD": commit + "\n"], ""),
        ([".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": commit + "\n"], ""),
        ([".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": commit], "/api/server"),
        (
            [
                ".git/HEAD": "ref: refs/heads/a/b\n",
                ".git/packed-refs":
                    "# pack-refs with: peeled\nffffffffffff refs/heads/b\n\(commit) refs/heads/a/b\n",
            ], ""
        ),
        (
            [
                "tree/.git": "gitdir: ../main/.git/worktrees/tree\n",
                "main/.git/worktrees/tree/HEAD": "ref: refs/heads/side\n",
                "main/.git/worktrees/tree/commondir": "../..\n",
                "main/.git/refs/heads/side": commit + "\n",
            ], "/tree"
        ),
    ]

    @Test("every layout of a repository leads to its commit", arguments: layouts)
    func layout(files: [String: String], place: String) throws {
        let folder = try TemporaryFolder()
        for (path, text) in files { try folder.write(text, to: path) }
        #expect(GitCommit.current(in: folder.path + place) == "0123456789ab")
    }

    @Test func `a report names the commit of the backend and not of the working folder`()
        async throws
    {
        let folder = try TemporaryFolder()
        for (place, commit) in [("", String(repeating: "f", count: 40)), ("api/", Self.commit)] {
            try folder.write("ref: refs/heads/main\n", to: place + ".git/HEAD")
            try folder.write(commit + "\n", to: place + ".git/refs/heads/main")
        }
        try folder.write(
            """
            assay: 1
            start:
              command: "exec '\(Program.path)' backend --port {{port}} --data '{{data}}'"
              cwd: .
              ready: GET /healthz
            endpoints: {revenuecat-webhook: POST /api/webhooks/revenuecat}
            secrets: {revenuecat-authorization: Bearer assay-test-token}
            probes: {subscription: {get: "/test/subscriptions/{{id}}", read: {access: /access}}}
            """,
            to: "api/assay.yaml"
        )
        let arguments = ["verify", "--profile", "api/assay.yaml", "--only", "S-08"]
        let run = try await Program(
            arguments + ["--report", "html=report.html"],
            folder: folder.path
        ).wait()
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        let report = try String(contentsOfFile: folder.path + "/report.html", encoding: .utf8)
        #expect(report.contains("0123456789ab"))
        #expect(!report.contains("ffffffffffff"))
    }

    @Test(
        "a folder without a commit has none",
        arguments: [
            [:], [".git/HEAD": "ref: refs/heads/main"], [".git/HEAD": "not a commit"],
            [".git/HEAD": "ref: refs/heads/main", ".git/refs/heads/main": "abc"],
        ] as [[String: String]]
    )
    func none(files: [String: String]) throws {
        let folder = try TemporaryFolder()
        for (path, text) in files { try folder.write(text, to: path) }
        #expect(GitCommit.current(in: folder.path) == nil)
    }
}
