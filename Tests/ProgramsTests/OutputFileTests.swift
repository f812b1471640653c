import Foundation
import Programs
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("Files that are written for the user")
struct OutputFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func path(_ name: String) -> String { folder.path + "/" + name }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    private func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private enum Attempt: CaseIterable { case check, write, append }

    /// The error of an attempt; nil when it succeeds.
    private func failure(_ attempt: Attempt, at path: String) -> OutputFile.WriteError? {
        let file = OutputFile(path)
        do throws(OutputFile.WriteError) {
            switch attempt {
            case .check: try file.check()
            case .write: try file.write("x")
            case .append: try file.append("x")
            }
            return nil
        } catch {
            return error
        }
    }

    // MARK: Writing

    @Test func `a file is replaced as a whole, keeps its mode and leaves no other file`() throws {
        try folder.write("a longer text", to: "report")
        chmod(path("report"), 0o640)
        try OutputFile(path("report")).write("short")
        #expect(folder.read("report") == "short")
        #expect(try mode("report") == 0o640)
        #expect(try names() == ["report"])
    }

    @Test func `missing folders are made, as the umask or the owner's privacy asks`() throws {
        close(open(path("usual"), O_WRONLY | O_CREAT, 0o666))
        try OutputFile(path("open/to/all")).write("x")
        try OutputFile(path("private/to/me"), .ownerOnly).write("x")
        #expect(try mode("open/to/all") == (try mode("usual")))
        #expect(try mode("private") == 0o700)
        #expect(try mode("private/to") == 0o700)
        #expect(try mode("private/to/me") == 0o600)
    }

    @Test func `a private file is private though an earlier one was not`() throws {
        try folder.write("old", to: "state")
        chmod(path("state"), 0o644)
        try OutputFile(path("state"), .ownerOnly).write("new")
        #expect(try mode("state") == 0o600)
        // With a second name it is written in place.
        try folder.write("old", to: "first")
        chmod(path("first"), 0o644)
        #expect(link(path("first"), path("second")) == 0)
        try OutputFile(path("first"), .ownerOnly).write("new")
        #expect(folder.read("second") == "new")
        #expect(try mode("second") == 0o600)
    }

    @Test func `a link is followed, also to a file that is not there yet`() throws {
        try folder.write("old", to: "target")
        symlink("target", path("link"))
        symlink("later", path("dangling"))
        try OutputFile(path("link")).write("new")
        try OutputFile(path("dangling")).write("new")
        #expect(folder.read("target") == "new")
        #expect(folder.read("later") == "new")
        #expect(try names() == ["dangling", "later", "link", "target"])
        let kind = try FileManager.default.attributesOfItem(atPath: path("link"))[.type]
        #expect(kind as? FileAttributeType == .typeSymbolicLink)
        symlink("circle", path("circle"))
        let reason = failure(.write, at: path("circle"))?.reason
        #expect(reason == String(cString: strerror(ELOOP)))
    }

    @Test func `text is added at the end`() throws {
        try OutputFile(path("steps/summary")).append("one\n")
        try OutputFile(path("steps/summary")).append("two\n")
        #expect(folder.read("steps/summary") == "one\ntwo\n")
    }

    // MARK: Failures

    @Test(arguments: ["", "folder", "file/below", "\(String(repeating: "n", count: 300))"])
    func `a path that cannot be written is an error with its path`(name: String) throws {
        try folder.write("x", to: "folder/inside")
        try folder.write("kept", to: "file")
        let target = name.isEmpty ? "" : path(name)
        for attempt in Attempt.allCases {
            let error = try #require(failure(attempt, at: target), "\(attempt)")
            #expect(error.path == target)
            #expect(error.description.hasPrefix("cannot write '\(target)': "))
        }
        #expect(try names() == ["file", "folder"])
        #expect(folder.read("file") == "kept")
    }

    #if os(Linux)
    @Test func `a full disk is an error, and the check before a run does not see it`() throws {
        #expect(failure(.check, at: "/dev/full") == nil)
        for attempt in [Attempt.write, .append] {
            let reason = failure(attempt, at: "/dev/full")?.reason
            #expect(reason == String(cString: strerror(ENOSPC)))
        }
    }
    #endif

    @Test func `a pipe whose reader has ended is not an error`() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        try OutputFile("/dev/fd/\(ends[1])").write("x")
        close(ends[1])
        #expect(failure(.check, at: "/dev/fd/999999") != nil)
    }

    // MARK: Special files

    @Test func `a FIFO is written in place, and is neither opened before nor removed`() async throws
    {
        #expect(mkfifo(path("pipe"), 0o600) == 0)
        let file = OutputFile(path("pipe"))
        // Opening it would wait for a reader.
        try file.check()
        file.removeExisting()
        let reader = try Program(["pipe"], folder: folder.path, executable: "/bin/cat")
        let text = String(repeating: "line\n", count: 100_000)
        try file.write(text)
        #expect(await reader.wait().output == text)
        #expect(try names() == ["pipe"])
    }

    @Test func `a descriptor goes on where it is`() throws {
        try folder.write("", to: "output")
        let descriptor = open(path("output"), O_WRONLY)
        #expect(SystemWrite.writeAll(Array("before ".utf8), to: descriptor) == 0)
        try OutputFile("/dev/fd/\(descriptor)").write("report ")
        #expect(SystemWrite.writeAll(Array("after".utf8), to: descriptor) == 0)
        close(descriptor)
        #expect(folder.read("output") == "before report after")
    }

    @Test func `a descriptor that takes no more for a moment is waited for`() async throws {
        #expect(mkfifo(path("pipe"), 0o600) == 0)
        let reader = try Program(["pipe"], folder: folder.path, executable: "/bin/cat")
        var writing: Int32 = -1
        _ = try await SettleTimeout.until {
            writing = open(path("pipe"), O_WRONLY | O_NONBLOCK)
            return writing >= 0
        }
        let text = String(repeating: "line\n", count: 100_000)
        #expect(SystemWrite.writeAll(Array(text.utf8), to: writing) == 0)
        close(writing)
        #expect(await reader.wait().output == text)
    }

    // MARK: Before a run

    @Test func `the check leaves nothing behind and changes nothing`() throws {
        try folder.write("yesterday", to: "report")
        try OutputFile(path("report")).check()
        try OutputFile(path("new")).check()
        #expect(folder.read("report") == "yesterday")
        #expect(try names() == ["report"])
    }

    @Test func `the file of an earlier run is removed, through a link as well`() throws {
        for name in ["report", "target", "shared"] { try folder.write("yesterday", to: name) }
        symlink("target", path("link"))
        link(path("shared"), path("other"))
        for name in ["report", "link", "shared", "missing"] {
            OutputFile(path(name)).removeExisting()
        }
        #expect(try names() == ["link", "other", "shared"])
        #expect(folder.read("other") == "", "a file with two names is emptied")
    }
}
