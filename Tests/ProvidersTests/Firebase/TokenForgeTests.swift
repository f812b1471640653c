import Contracts
import Providers
import Testing
import Values

@Suite("Forged tokens")
struct TokenForgeTests {
    @Test func `an undecodable signature follows the valid header and payload of a token`() throws {
        let now = Instant(milliseconds: 1_700_000_000_000)
        let key = try SigningKey(at: now)
        let tokenForge = TokenForge(
            project: "p",
            key: key,
            cookieKey: nil,
            unpublishedKey: nil,
            withdrawnKey: nil
        )
        func parts(_ signing: TokenSpec.Signing) throws -> [Substring] {
            var spec = TokenSpec()
            spec.signing = signing
            let text = try #require(tokenForge.text(spec, user: "ada", at: now))
            return text.split(separator: ".", omittingEmptySubsequences: false)
        }
        let (good, bad) = (try parts(.genuine), try parts(.illegible))
        #expect(good.count == 3)
        #expect(good.dropLast() == bad.dropLast())
        // One character is another: whoever passes over it has lost one.
        #expect(zip(good[2], bad[2]).count { $0 != $1 } == 1)
        #expect(good[2].count == bad[2].count)
        #expect(bad[2].contains("*"))
    }
}
