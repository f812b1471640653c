import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

@Suite("Effects that wait for a call without a response")
struct HeldUpEffectTests {
    private static let second: Int64 = 1_000_000

    /// A case in which a call to OneSignal gets no response.
    ///
    /// - Parameters:
    ///   - caller: The user for whom the backend makes the call.
    ///   - end: The time at which the call ends, in seconds after its beginning; nil if it is open.
    ///   - delay: The time at which the push to the other user comes, in seconds after the beginning
    ///     of the call; nil if no push comes.
    /// - Returns: The case.
    private static func builder(caller: String = "ada", end: Int64?, delay: Int64?)
        -> EvidenceBuilder
    {
        var expectation = SampleContract.expectation()
        expectation.effects = [
            SampleContract.effect(user: "bob") {
                $0.countMin = 1
                $0.userWithHangingCall = "ada"
            }
        ]
        var builder = EvidenceBuilder(
            [SampleContract.purchase("first"), SampleContract.purchase("second")],
            expectation: expectation
        )
        builder.profile.settleTimeout = .seconds(10)
        let body: JSONValue = [
            "include_aliases": ["external_id": [.string(builder.id(of: caller))]]
        ]
        var call = EvidenceBuilder.push(to: builder.id(of: caller))
        call.request = HTTPMessage.Request("POST", "/notifications", body: body.bytes)
        call.outcome = .failed(.timedOut, "no response")
        call.effects = []
        call.sequence = 3
        call.completed = end.map { $0 * second }
        builder.subject = [EvidenceBuilder.delivery("first"), EvidenceBuilder.delivery("second")]
        builder.subject.append(call)
        if let delay {
            var push = EvidenceBuilder.push(
                to: builder.id(of: caller == "ada" ? "bob" : "ada")
            )
            push.sequence = 4
            (push.invoked, push.completed) = (delay * second, delay * second)
            builder.subject.append(push)
        }
        return builder
    }

    @Test(
        "a push waits for the end of the call",
        arguments: [
            // A push that comes while the call is open did not wait, however late it comes.
            (nil, 0, []), (nil, 9, []), (30, 1, []), (30, 29, []), (30, 30, []),
            // A short call holds up nothing.
            (2, 2, []), (2, 3, []), (5, 6, []), (6, 6, []),
            (7, 8, [.effectHeldUp]), (10, 11, [.effectHeldUp]), (30, 31, [.effectHeldUp]),
            (nil, nil, [.effectHeldUp]),
            // The push is missing for another reason.
            (2, nil, [.wrongEffectCount]), (30, nil, [.wrongEffectCount]),
        ] as [(end: Int64?, delay: Int64?, codes: [FindingCode])],
        ["ada", "bob"]
    )
    func waits(times: (end: Int64?, delay: Int64?, codes: [FindingCode]), caller: String) {
        // The parallel backend called for the other user first, so the pushes change places.
        let isSwapped = caller == "bob"
        let builder = Self.builder(caller: caller, end: times.end, delay: times.delay)
        let (verdict, findings) = Judge.judge(builder.evidence)
        // The push to the user whose call hangs may come long after the end of the case.
        let expected =
            isSwapped && !times.codes.contains(.effectHeldUp) ? [] : times.codes
        #expect(findings.map(\.code) == expected, "\(findings)")
        #expect(verdict == (expected.isEmpty ? .passed : .failed))
    }

    @Test func `the delay follows the settle timeout of the profile`() {
        var builder = Self.builder(end: 30, delay: 31)
        builder.profile.settleTimeout = .seconds(60)
        #expect(builder.codes(EffectRule.self).isEmpty)
        builder.profile.settleTimeout = .seconds(40)
        #expect(builder.codes(EffectRule.self) == [.effectHeldUp])
    }

    @Test func `only a missing push may still come`() {
        func mayCome(_ delay: Int64?) -> Bool {
            let builder = Self.builder(end: delay.map { $0 - 1 }, delay: delay)
            return Judge.mayResolveWithLongerWait(Judge.judge(builder.evidence).findings)
        }
        #expect(mayCome(nil))
        #expect(!mayCome(31))
    }

    @Test func `a case without a call that gets no response is inconclusive`() {
        var builder = Self.builder(end: 1, delay: 2)
        builder.subject.remove(at: 2)
        #expect(Judge.judge(builder.evidence).findings.map(\.code) == [.faultNotApplied])
    }
}
