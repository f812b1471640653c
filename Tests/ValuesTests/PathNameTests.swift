import Testing
import Values

@Suite("Path names")
struct PathNameTests {
    @Test(
        "a path is split at its slashes",
        arguments: [
            ("s", "", "s"), ("a/b", "a", "b"), ("/a", "/", "a"), ("/", "/", ""), ("", "", ""),
            (".", "", "."), ("a/", "", "a"), ("a//b", "a", "b"), ("//", "/", ""),
            ("/a/b/", "/a", "b"), ("g/x", "g", "x"), ("ä/ö", "ä", "ö"), ("a b/c d", "a b", "c d"),
        ]
    )
    func splits(path: String, folder: String, name: String) {
        #expect(PathName(path).folder == folder)
        #expect(PathName(path).name == name)
    }

    @Test(
        "an extension follows the last dot of a name",
        arguments: [
            ("a.swift", "swift"), ("a/b.c.d", "d"), (".env", ""), ("a", ""), ("a.b/c", ""),
            ("", ""), ("/", ""), ("a.", ""),
        ]
    )
    func findsExtension(path: String, ending: String) {
        #expect(PathName(path).fileExtension == ending)
    }

    @Test func `a path is appended to a folder`() {
        #expect(PathName("a").appending("b") == "a/b")
        #expect(PathName("a/").appending("b") == "a/b")
        #expect(PathName("").appending("b") == "b")
        #expect(PathName("a").appending("/b") == "/b")
    }
}
