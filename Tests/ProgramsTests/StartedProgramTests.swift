import Foundation
import Programs
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("Started programs")
struct StartedProgramTests {
    private func shell(_ script: String) -> ProgramCommand {
        ProgramCommand("/bin/sh", ["-c", script])
    }

    @Test(
        "the end of a program is reported with its exit status or signal",
        arguments: [
            ("exit 0", .exited(status: 0)), ("exit 7", .exited(status: 7)),
            ("kill -TERM $$", .killed(signal: 15)), ("kill -KILL $$", .killed(signal: 9)),
        ] as [(String, StartedProgram.ProgramEnd)]
    )
    func end(script: String, expected: StartedProgram.ProgramEnd) async throws {
        for endsWithParent in [false, true] {
            var command = shell(script)
            command.endsWithParent = endsWithParent
            let program = try StartedProgram(command)
            #expect(await program.ended() == expected)
            #expect(program.end == expected)
            program.finish()
            #expect(program.end == expected, "what is known does not change")
        }
    }

    @Test(arguments: [false, true], [3, 7, 60] as [Int32])
    func `Assay's open descriptors are not inherited`(endsWithParent: Bool, number: Int32)
        async throws
    {
        let folder = try TemporaryFolder()
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        // Not closed on exec, as sockets of libraries are not; the lowest may be somebody else's.
        let copy = number < 10 ? ends[0] : fcntl(ends[0], F_DUPFD, number)
        defer { for end in Set(ends + [copy]) { close(end) } }
        let pipe = try #require(ProgramPipe.ends())
        defer { for end in [pipe.readEnd, pipe.writeEnd] { close(end) } }
        var command = shell(
            "for n in $(ls /dev/fd); do [ -e /dev/fd/$n ] && [ $n -gt 2 ] && echo $n; done; echo end"
        )
        command.endsWithParent = endsWithParent
        command.output = .appending(path: folder.path + "/out")
        if number == 7 { command.descriptors = [7: pipe.readEnd] }
        let program = try StartedProgram(command)
        _ = await program.ended()
        let lines = folder.read("out")?.split(separator: "\n").map(String.init) ?? []
        #expect(lines == (number == 7 ? ["7", "end"] : ["end"]))
    }

    @Test func `every waiting caller is notified`() async throws {
        let pipe = try #require(ProgramPipe.ends())
        var command = shell("read -r line")
        command.input = .descriptor(pipe.readEnd)
        let program = try StartedProgram(command)
        async let first = program.ended()
        async let second = program.ended()
        #expect(program.end == nil)
        close(pipe.readEnd)
        close(pipe.writeEnd)
        let ends = await [first, second]
        #expect(ends == [.exited(status: 1), .exited(status: 1)])
    }

    @Test func `a signal reaches the whole group, and finishing leaves no process`() async throws {
        let folder = try TemporaryFolder()
        let pipe = try #require(ProgramPipe.ends())
        defer { for end in [pipe.readEnd, pipe.writeEnd] { close(end) } }
        var command = shell("sh -c 'trap \"\" TERM; echo $$; read -r _ <&3' & read -r _ <&3")
        command.output = .appending(path: folder.path + "/out")
        command.descriptors = [3: pipe.readEnd]
        let program = try StartedProgram(command)
        #expect(try await SettleTimeout.until { folder.read("out")?.hasSuffix("\n") == true })
        let text = try #require(folder.read("out"))
        let child = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        program.signal(SIGTERM)
        #expect(await program.ended() == .killed(signal: SIGTERM))
        #expect(kill(child, 0) == 0, "it does not heed that signal")
        program.finish()
        #expect(try await SettleTimeout.until { Self.isGone(child) })
        // To whoever has that number now, nothing is sent.
        program.signal(SIGKILL)
        program.finish()
    }

    /// Not there, or only waiting to be reaped by whoever inherited it.
    private static func isGone(_ process: Int32) -> Bool {
        guard kill(process, 0) == 0 else { return true }
        let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return stat.contains(") Z ")
    }

    @Test func `letting go of a program ends it`() async throws {
        let pipe = try #require(ProgramPipe.ends())
        defer { for end in [pipe.readEnd, pipe.writeEnd] { close(end) } }
        var command = shell("read -r _ <&3")
        command.descriptors = [3: pipe.readEnd]
        var program: StartedProgram? = try StartedProgram(command)
        let number = try #require(program?.processID)
        program = nil
        #expect(Self.isGone(number))
    }

    @Test func `passed descriptors keep their numbers, with or without a guard process`()
        async throws
    {
        for endsWithParent in [false, true] {
            let question = try #require(ProgramPipe.ends())
            let answer = try #require(ProgramPipe.ends())
            var command = shell("read -r line <&3; echo \"got $line\" >&4")
            // Crossed on purpose: the one must not overwrite the other.
            command.descriptors = [3: question.readEnd, 4: answer.writeEnd]
            command.endsWithParent = endsWithParent
            let program = try StartedProgram(command)
            close(question.readEnd)
            close(answer.writeEnd)
            let writeEnd = FileHandle(fileDescriptor: question.writeEnd, closeOnDealloc: true)
            try writeEnd.write(contentsOf: Data("that\n".utf8))
            await program.ended()
            let readEnd = FileHandle(fileDescriptor: answer.readEnd, closeOnDealloc: true)
            // The guard holds no copy: the pipe is at its end although the group is not finished.
            #expect(try readEnd.readToEnd() == Data("got that\n".utf8))
            program.finish()
        }
    }

    @Test func `a program's output is captured in full, even after a failing exit`() async throws {
        let printed = try await ProgramOutput.of(
            shell("printf abc; exit 3"),
            within: SettleTimeout.hang
        )
        #expect(printed.bytes == Array("abc".utf8))
        #expect(printed.end == .exited(status: 3))
        #expect(!printed.hasTimedOut)
        let large = try await ProgramOutput.of(
            shell("head -c 1000000 /dev/zero"),
            within: SettleTimeout.hang
        )
        #expect(large.bytes.count == 1_000_000)
    }

    @Test func `a program that does not end is killed when its time is over`() async throws {
        let pipe = try #require(ProgramPipe.ends())
        defer { for end in [pipe.readEnd, pipe.writeEnd] { close(end) } }
        var command = shell("read -r _ <&3 & read -r _ <&3")
        command.descriptors = [3: pipe.readEnd]
        let output = try await ProgramOutput.of(command, within: .zero)
        #expect(output.end == .killed(signal: SIGKILL))
        #expect(output.hasTimedOut)
    }

    @Test(
        "a program that is not there is an error with its name",
        arguments: ["/no/such/program", "/etc/passwd", "/"]
    )
    func missing(path: String) throws {
        for endsWithParent in [false, true] {
            var command = ProgramCommand(path)
            command.endsWithParent = endsWithParent
            let error = #expect(throws: StartedProgram.StartError.self) {
                _ = try StartedProgram(command)
            }
            #expect(error?.program == path)
            #expect(error?.description.hasPrefix("cannot start '\(path)': ") == true)
        }
    }

    @Test func `programs are found as a shell finds them`() throws {
        let folder = try TemporaryFolder()
        try folder.write("no program", to: "text")
        #expect(ProgramCommand.findExecutable("sh", searchPath: "/no/such:/bin") == "/bin/sh")
        #expect(ProgramCommand.findExecutable("/bin/sh", searchPath: "") == "/bin/sh")
        #expect(ProgramCommand.findExecutable("text", searchPath: folder.path) == nil)
        #expect(
            ProgramCommand.findExecutable("bin", searchPath: "/") == nil,
            "a folder is no program"
        )
        #expect(ProgramCommand.findExecutable("", searchPath: "/bin") == nil)
    }

    @Test func `the process group ends with Assay`() async throws {
        let folder = try TemporaryFolder()
        let pipe = try #require(ProgramPipe.ends())
        defer { for end in [pipe.readEnd, pipe.writeEnd] { close(end) } }
        var command = shell("echo $$; read -r _ <&3")
        command.output = .appending(path: folder.path + "/out")
        command.descriptors = [3: pipe.readEnd]
        command.endsWithParent = true
        let program = try StartedProgram(command)
        #expect(try await SettleTimeout.until { folder.read("out")?.hasSuffix("\n") == true })
        // What happens to the pipe when we die happens here on purpose.
        program.releaseLifeline()
        #expect(await program.ended() == .killed(signal: SIGKILL))
    }
}
