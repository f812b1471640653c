import Replay
import Testing

@Suite("Removing terminal codes from a backend's log")
struct TerminalCodesTests {
    @Test(
        "colors, titles and links are removed, words stay",
        arguments: [
            ("plain", "plain"), ("", ""),
            ("\u{1b}[32minfo\u{1b}[39m: up", "info: up"),
            ("\u{1b}[1;38;2;255;0;0mred\u{1b}[0m", "red"),
            ("a\u{1b}[2K\u{1b}[1Gb", "ab"),
            ("\u{1b}]0;a title\u{7}words", "words"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\!", "link!"),
            ("\u{1b}]0;t\u{7}\\kept", "\\kept"),
            ("\u{1b}(Bx", "x"), ("\u{1b}Mx", "x"), ("\u{1b}", ""), ("x\u{1b}[3", "x"),
            // What never ends takes its own line and no other.
            ("\u{1b}]0;no end\nnext", "\nnext"), ("\u{1b}[31\nnext", "\nnext"),
        ]
    )
    func textWithoutCodes(text: String, words: String) {
        #expect(TerminalCodes.textWithoutCodes(from: text) == words)
    }
}
