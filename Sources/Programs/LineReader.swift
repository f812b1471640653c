internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Splits a stream of bytes into lines at each line feed.
package struct LineSplitter {
    /// A line without its line feed.
    package enum Line: Hashable, Sendable {
        case complete([UInt8])
        /// A line longer than the limit, whose bytes were dropped.
        case tooLong
    }

    private let lengthMax: Int
    private var rest: [UInt8] = []
    private var isTooLong = false

    /// Creates a splitter for lines of at most `lengthMax` bytes.
    package init(lengthMax: Int = .max) {
        self.lengthMax = lengthMax
    }

    /// Returns the lines that end in the next bytes of the stream.
    package mutating func append(_ bytes: ArraySlice<UInt8>) -> [Line] {
        var lines: [Line] = []
        var remainingBytes = bytes
        while let lineEnd = remainingBytes.firstIndex(of: UInt8(ascii: "\n")) {
            keep(remainingBytes[..<lineEnd])
            lines.append(takeLine())
            remainingBytes = remainingBytes[(lineEnd + 1)...]
        }
        keep(remainingBytes)
        return lines
    }

    /// Returns the last line, which no line feed ends; nil when the stream ended with a line feed.
    package mutating func lastLine() -> Line? {
        rest.isEmpty && !isTooLong ? nil : takeLine()
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        isTooLong = isTooLong || rest.count + bytes.count > lengthMax
        if isTooLong { rest = [] } else { rest += bytes }
    }

    private mutating func takeLine() -> Line {
        defer { (rest, isTooLong) = ([], false) }
        return isTooLong ? .tooLong : .complete(rest)
    }
}

/// Reads the lines of a descriptor on a thread.
package enum LineReader {
    /// Returns the lines of a descriptor, which the reader does not close.
    ///
    /// - Parameters:
    ///   - descriptor: A pipe, a file or a terminal.
    ///   - lengthMax: The largest length of a line in bytes.
    /// - Returns: The lines, until the end of the descriptor.
    package static func lines(
        of descriptor: Int32,
        lengthMax: Int = .max
    ) -> AsyncStream<LineSplitter.Line> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                var splitter = LineSplitter(lengthMax: lengthMax)
                var buffer = [UInt8](repeating: 0, count: 1 << 16)
                while true {
                    let count = read(descriptor, &buffer, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    // An unreadable descriptor counts as its end.
                    guard count > 0 else { break }
                    for line in splitter.append(buffer[..<count]) { continuation.yield(line) }
                }
                if let line = splitter.lastLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}
