import Contracts
import Recording
import Testing
import TestSupport
import Values

@Suite("Recording files")
struct RecordingFileTests {
    static func exchange(
        _ sequence: Int,
        from: Exchange.Party = .app,
        _ method: String = "POST",
        _ target: String = "/api/user/register",
        body: JSONValue? = ["appUserId": "user-17"],
        status: Int = 200,
        answer: JSONValue = ["ok": true],
        at milliseconds: Int64 = 1_790_000_000_000
    ) -> Exchange {
        Exchange(
            from: from,
            to: .backend,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: milliseconds),
            request: HTTPMessage.Request(method, target, body: body?.bytes ?? []),
            sequence: sequence,
            invoked: Int64(sequence) * 1000,
            completed: Int64(sequence) * 1000 + 500,
            outcome: .answered(HTTPMessage.Response(status, json: answer))
        )
    }

    static let header = RecordingHeader(
        version: "0.1.0",
        began: Instant(milliseconds: 1_790_000_000_000),
        target: "http://127.0.0.1:8080"
    )

    /// Writes exchanges to a new recording file, and reads the file.
    static func written(
        _ exchanges: [Exchange],
        in folder: TemporaryFolder
    ) throws -> (recording: Recording, notes: [String]) {
        let name = "recording.ndjson"
        try folder.remove(name)
        let writer = try RecordingWriter(
            path: folder.path + "/" + name,
            header: header,
            redactor: Redactor(key: [1], secrets: [], names: [])
        )
        for exchange in exchanges {
            writer.began(exchange)
            writer.completed(
                exchange.sequence,
                exchange.outcome,
                exchange.effects,
                namespace: nil,
                at: exchange.completed ?? exchange.invoked
            )
        }
        writer.close()
        return try Recording.parse(Array(try #require(folder.read(name)).utf8))
    }

    static func bytes() -> [UInt8] {
        var odd = exchange(1, "PUT", "/blob", body: nil)
        odd.request.body = [0, 255, 1, 254]
        odd.outcome = .failed(.timedOut, "too late")
        odd.effects = [Effect(kind: "onesignal.notification", recipients: ["a"], content: [:])]
        let recording = Recording(header: header, exchanges: [exchange(0), odd, exchange(2)])
        return Array((recording.lines.joined(separator: "\n") + "\n").utf8)
    }

    @Test func `a written recording is read back unchanged`() throws {
        let (recording, notes) = try Recording.parse(Self.bytes())
        #expect(notes.isEmpty)
        #expect(recording.isClosed)
        #expect(recording.header == Self.header)
        #expect(recording.exchanges.count == 3)
        #expect(recording.exchanges[1].request.body == [0, 255, 1, 254])
        #expect(recording.exchanges[1].outcome == .failed(.timedOut, "too late"))
        #expect(recording.exchanges[1].effects.count == 1)
        let again = recording.lines.joined(separator: "\n") + "\n"
        #expect(Array(again.utf8) == Self.bytes())
    }

    // MARK: Bodies that are told later

    /// A recording whose one request was on its way before its body was known.
    private static func later(_ lines: [String]) throws -> (Recording, [String]) {
        let begin = """
            {"begin":0,"from":"app","to":"backend","at":"2026-11-20T08:00:00.000Z","us":1,\
            "request":{"method":"POST","target":"/x","headers":[],"body":{"later":true}}}
            """
        let all = [header.json.text, begin] + lines
        return try Recording.parse(Array((all.joined(separator: "\n") + "\n").utf8))
    }

    private static let sent = "{\"sent\":0,\"body\":{\"json\":{\"a\":1}}}"
    private static let end =
        "{\"end\":0,\"us\":2,\"response\":{\"status\":200,\"headers\":[],\"body\":null}}"
    private static let closed = "{\"closed\":1}"

    @Test(
        "a request body may follow on a separate line, before or after the response",
        arguments: [[sent, end, closed], [end, sent, closed]]
    )
    func told(lines: [String]) throws {
        let (recording, notes) = try Self.later(lines)
        #expect(recording.exchanges.map(\.request.body) == [Array("{\"a\":1}".utf8)])
        #expect(notes.isEmpty)
    }

    @Test func `a response before the end of the request body is noted`() throws {
        let (recording, notes) = try Self.later([Self.end, Self.closed])
        #expect(recording.exchanges.map(\.request.body) == [[]])
        #expect(notes == ["1 request got its response before its whole body was sent"])
    }

    @Test(
        "a body line without a request that expects it is an error",
        arguments: [[sent, sent], ["{\"sent\":7}"]]
    )
    func stray(lines: [String]) {
        #expect(throws: RecordingError.self) { try Self.later(lines) }
    }

    // MARK: Files that are cut or changed

    /// Wherever a kill cuts the file, what stood there in full lines is read, and the rest is named.
    @Test func `cut anywhere, it is read to its last full line or refused with a line`() throws {
        let whole = Self.bytes()
        let lineEnds = whole.indices.filter { whole[$0] == UInt8(ascii: "\n") }
        for end in 0..<whole.count {
            do throws(RecordingError) {
                let (recording, notes) = try Recording.parse(Array(whole.prefix(end)))
                #expect(!notes.isEmpty, "cut at \(end), and nothing says so")
                let full = lineEnds.count { $0 < end }
                #expect(recording.exchanges.count == max(0, full - 1) / 2)
            } catch {
                #expect(end <= lineEnds[0], "cut at \(end): \(error)")
            }
        }
    }

    @Test func `a flipped bit is an error with its line, or changes nothing but that exchange`() {
        let whole = Self.bytes()
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<3000 {
            var broken = whole
            let index = Int(generator.next() % UInt64(whole.count))
            broken[index] ^= 1 << UInt8(generator.next() % 8)
            do throws(RecordingError) {
                let (recording, notes) = try Recording.parse(broken)
                #expect(recording.exchanges.count == 3 || !notes.isEmpty)
            } catch {
                #expect(error.line >= 1 && !error.remedy.isEmpty)
            }
        }
    }

    @Test(
        "hostile files are refused with line and remedy",
        arguments: [
            ("", 1), ("\n", 1), ("[]\n", 1), ("{\"assay\":\"recording\",\"format\":1}\n", 1),
            ("{\"assay\":\"recording\",\"format\":2,\"began\":\"never\"}\n", 1),
        ]
    )
    func hostile(text: String, line: Int) {
        #expect(throws: RecordingError.self) { _ = try Recording.parse(Array(text.utf8)) }
        do throws(RecordingError) {
            _ = try Recording.parse(Array(text.utf8))
        } catch {
            #expect(error.line == line)
        }
    }

    @Test(
        "lines that contradict each other are refused",
        arguments: [
            #"{"begin":0,"from":"app","to":"mars","at":"2026-11-21T10:00:00Z","us":1,"request":{"method":"GET","target":"/"}}"#,
            #"{"end":5,"us":1,"response":{"status":200}}"#, #"{"hello":1}"#, "not json",
            #"{"begin":0,"from":"app","to":"backend","at":"2026-11-21T10:00:00Z","us":1,"request":{"method":"GET","target":"/","body":{"base64":"AAAA","digest":"sha256:0"}}}"#,
        ]
    )
    func contradictions(line: String) {
        let text = Self.header.json.text + "\n" + line + "\n"
        do throws(RecordingError) {
            _ = try Recording.parse(Array(text.utf8))
            Issue.record("accepted: \(line)")
        } catch {
            #expect(error.line == 2)
        }
    }

    @Test func `nesting without end is refused and not followed`() {
        let deep = String(repeating: "[", count: 200_000)
        let text = Self.header.json.text + "\n" + deep + "\n"
        #expect(throws: RecordingError.self) { _ = try Recording.parse(Array(text.utf8)) }
    }
}
