import ContractFiles
import Foundation
import TestSupport
import Testing

/// Finding the files of a folder of contracts.
@Suite("Folder trees")
struct FolderTreeTests {
    @Test func `files of all levels are found, and others are left out`() throws {
        let folder = try Self.folder()
        let paths = try #require(FolderTree.paths(in: folder.path, withSuffix: ".yaml"))
        #expect(paths.sorted() == ["a.yaml", "b/c.yaml"])
    }

    @Test func `a folder can be a symbolic link`() throws {
        let folder = try Self.folder()
        let other = try TemporaryFolder()
        let link = other.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
        #expect(FolderTree.paths(in: link, withSuffix: ".yaml")?.count == 2)
    }

    @Test func `a folder with too many entries is refused`() throws {
        let folder = try Self.folder()
        #expect(FolderTree.paths(in: folder.path, withSuffix: ".yaml", entryCountMax: 4) != nil)
        #expect(FolderTree.paths(in: folder.path, withSuffix: ".yaml", entryCountMax: 3) == nil)
    }

    private static func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path + "/b",
            withIntermediateDirectories: false
        )
        for name in ["a.yaml", "b/c.yaml", "b/d.txt"] {
            try Data().write(to: URL(fileURLWithPath: folder.path + "/" + name))
        }
        return folder
    }
}
