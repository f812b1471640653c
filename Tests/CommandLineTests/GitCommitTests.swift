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
