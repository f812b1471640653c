import Testing
import TestSupport

/// All programs are started with the module `Programs`.
///
/// `Process` of Foundation lists the open descriptors before each start, and copies 256 bytes of
/// each name in the list. With more than 1,360 descriptors the list fills its buffer, and the copy
/// of the last name reads past the end of the memory: the process crashes with signal 11. Its
/// `waitUntilExit` also keeps a core busy while it waits.
@Suite("Starting programs")
struct ProgramStartTests {
    private static func usesFoundationProcess(_ line: String) -> Bool {
        line.contains(#/\b(?:Process\(\)|Process\.run\(|NSTask\b)/#)
    }

    @Test func `no source and no test starts a program with Foundation`() {
        let lines = Repository.lines(below: "Sources", "Tests")
            .filter { !$0.path.hasSuffix("/ProgramStartTests.swift") }
        #expect(lines.count > 10_000, "the sources were not found")
        for line in lines where Self.usesFoundationProcess(line.text) {
            Issue.record("\(line.path):\(line.number): use StartedProgram or ProgramOutput")
        }
    }

    @Test(arguments: ["let process = Process()", "try Process.run(url, arguments: [])"])
    func `a start with Foundation is found`(line: String) {
        #expect(Self.usesFoundationProcess(line))
    }

    @Test(arguments: ["StartedProgram(command)", "SimulatedProcess()", "ProcessInfo.processInfo"])
    func `other starts are not found`(line: String) {
        #expect(!Self.usesFoundationProcess(line))
    }
}
