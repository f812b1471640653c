import Foundation
import Testing
import TestSupport

/// Two kinds of faults that compile: an option at the wrong level of a socket, and a closure that a
/// generic type stores.
@Suite("Sockets and stored closures")
struct SocketAndClosureTests {
    /// The lines of the sources without comments; benchmarks are not part of the product.
    private static let lines = Repository.lines(below: "Sources")
        .filter { !$0.text.trimmingCharacters(in: .whitespaces).hasPrefix("//") }
        .filter { !$0.path.hasPrefix("Sources/AssayBenchmarks/") }

    private static func matches(_ pattern: String, _ line: String) throws -> Bool {
        let range = NSRange(line.startIndex..., in: line)
        return try NSRegularExpression(pattern: pattern).firstMatch(in: line, range: range) != nil
    }

    // MARK: Options of sockets

    /// A TCP option at the level of sockets is another option: 1 is `SO_DEBUG`, which only a
    /// privileged user may set.
    private static let wrongLevel = #"socketOption\(\.(tcp|ip|ipv6|udp)_"#
    /// A bootstrap drops a connection without a word when one of its options fails.
    private static let silent = #"\.(child)?[cC]hannelOption\("#

    @Test func `every option is set at its own level, and none drops a connection silently`() throws
    {
        #expect(Self.lines.count > 10_000, "the sources were not found")
        for line in Self.lines where line.text.contains("Option(") {
            #expect(
                try !Self.matches(Self.wrongLevel, line.text),
                "\(line.path):\(line.number): use tcpOption"
            )
            let isOfListener = line.text.contains(".serverChannelOption(")
            #expect(
                try isOfListener || !Self.matches(Self.silent, line.text),
                "\(line.path):\(line.number): use ConnectionOptions"
            )
        }
    }

    @Test func `the patterns find their examples`() throws {
        #expect(try Self.matches(Self.wrongLevel, ".socketOption(.tcp_nodelay), value: 1"))
        #expect(try Self.matches(Self.silent, ".childChannelOption(.tcpOption(.x), value: 1)"))
        #expect(try Self.matches(Self.silent, ".channelOption(.tcpOption(.x), value: 1)"))
        #expect(try !Self.matches(Self.wrongLevel, ".socketOption(.so_reuseaddr), value: 1"))
    }

    // MARK: Closures

    /// The type of a variable, or the call that makes its value, with a function as the argument of a
    /// generic type, or as the element of a collection.
    private static let generic =
        #"\b(let|var) \w+.*(\b[A-Z]\w*<[^=>]*->|\[[^\]=]*->)"#

    /// Names of function types, each of which is a closure in disguise.
    private static let aliases: Set<String> = {
        var found: Set<String> = []
        let files = Repository.files(below: "Sources")
        let pattern = try? NSRegularExpression(
            pattern: #"typealias (\w+) =\s*(@\w+ )*\([^={}]*?\)[^={}\n]*->"#
        )
        for file in files {
            let range = NSRange(file.text.startIndex..., in: file.text)
            for match in pattern?.matches(in: file.text, range: range) ?? [] {
                if let name = Range(match.range(at: 1), in: file.text) {
                    found.insert(String(file.text[name]))
                }
            }
        }
        return found
    }()

    private static func storesClosure(_ line: String) throws -> Bool {
        guard line.contains("let ") || line.contains("var ") else { return false }
        if line.contains("->"), try matches(generic, line) { return true }
        for alias in aliases where line.contains(alias) {
            let boxes = "Locked|NIOLockedValueBox|Mutex"
            if try matches(#"\b(\#(boxes))<[^>]*\b\#(alias)\b"#, line) { return true }
        }
        return false
    }

    /// A closure inside a generic type is wrapped once more at every access in place: each call walks
    /// through all earlier ones.
    @Test func `no generic type stores a closure`() throws {
        #expect(Self.aliases.contains("Handler") && Self.aliases.contains("MarkMaker"))
        for line in Self.lines {
            #expect(
                try !Self.storesClosure(line.text),
                "\(line.path):\(line.number): hold the closure in a struct"
            )
        }
    }

    @Test(
        "every stored closure is found",
        arguments: [
            "private let onChange = Locked<@Sendable () -> Void>({})",
            "let state = Locked<(hasEnded: Bool, act: (@Sendable () -> Void)?)>((false, nil))",
            "var open: [Int: (end: Duration, expire: @Sendable () -> Void)] = [:]",
            "let waiting = NIOLockedValueBox<[@Sendable () async throws -> Void]>([])",
            "private var handlers: [() -> Void] = []", "let handler = Locked<Handler?>(nil)",
        ]
    )
    func isFound(line: String) throws { #expect(try Self.storesClosure(line), "\(line)") }

    @Test(
        "a closure in a struct, and a function over generic types, are not",
        arguments: [
            "var action: @Sendable () -> Void = {}", "let read: (Locked<State>) -> String",
            "let bar = Locked<State>(State())", "private let work: @Sendable ([Int]) -> Set<Int>",
        ]
    )
    func isNotFound(line: String) throws { #expect(try !Self.storesClosure(line), "\(line)") }
}
