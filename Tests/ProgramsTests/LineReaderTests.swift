import Programs
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

@Suite("Lines of a stream")
struct LineReaderTests {
    private static func lines(_ chunks: [[UInt8]], lengthMax: Int = .max) -> [LineSplitter.Line] {
        var splitter = LineSplitter(lengthMax: lengthMax)
        var lines = chunks.flatMap { splitter.append($0[...]) }
        if let last = splitter.lastLine() { lines.append(last) }
        return lines
    }

    @Test(arguments: 0..<50)
    func `the lines do not depend on how the bytes arrive`(seed: UInt64) {
        var arbitrary = ArbitraryValues(seed: seed)
        let bytes = (0..<60).map { _ in arbitrary.one(of: [UInt8(ascii: "\n"), 0x61, 0x0d, 0xff]) }
        var (chunks, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], bytes[...])
        while !rest.isEmpty {
            chunks.append(Array(rest.prefix(arbitrary.int(0...9))))
            rest = rest.dropFirst(chunks.last?.count ?? 0)
        }
        let expected = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { LineSplitter.Line.complete(Array($0)) }
        let endsWithLine = bytes.last == UInt8(ascii: "\n")
        #expect(Self.lines(chunks) == (endsWithLine ? expected.dropLast() : expected))
    }

    @Test func `a line that is too long is dropped alone`() {
        let chunks = ["ab\ncd", "e", "fg\nhi\n", "jklm"].map { Array($0.utf8) }
        #expect(
            Self.lines(chunks, lengthMax: 3)
                == [
                    .complete(Array("ab".utf8)), .tooLong, .complete(Array("hi".utf8)), .tooLong,
                ]
        )
    }

    @Test func `the reader ends with its pipe`() async throws {
        let pipe = try #require(ProgramPipe.ends())
        #expect(SystemWrite.writeAll(Array("one\ntwo".utf8), to: pipe.writeEnd) == 0)
        close(pipe.writeEnd)
        var lines: [LineSplitter.Line] = []
        for await line in LineReader.lines(of: pipe.readEnd) { lines.append(line) }
        close(pipe.readEnd)
        #expect(lines == ["one", "two"].map { .complete(Array($0.utf8)) })
    }
}
