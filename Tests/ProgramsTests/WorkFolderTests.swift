import Foundation
import Programs
import TestSupport
import Testing

@Suite("Work folders of a process")
struct WorkFolderTests {
    @Test func `a folder is there until it is removed`() throws {
        let work = try WorkFolder("test")
        #expect(FileManager.default.fileExists(atPath: work.path))
        #expect(work.path.contains("/assay-test-"))
        let mode = try FileManager.default.attributesOfItem(atPath: work.path)
        #expect(mode[.posixPermissions] as? Int == 0o700)
        work.remove()
        #expect(!FileManager.default.fileExists(atPath: work.path))
        work.remove()
    }

    @Test func `a killed process's folders are removed, and folders in use stay`() throws {
        let folder = try TemporaryFolder()
        let name = "assay-run-" + UUID().uuidString
        let signature = "assay work folder\n"
        // Nobody holds its lock.
        try folder.write(signature, to: name + "/owner")
        try folder.write("", to: name + "/data/state")
        // Named like ours, and not signed; signed, and not named so.
        let other = "assay-run-" + UUID().uuidString
        try folder.write("somebody", to: other + "/owner")
        try folder.write(signature, to: "assay-notes/owner")
        // No folder of ours, one that is being made, and a file.
        try folder.write("", to: "other/owner")
        try folder.write("", to: "assay-run-new/new")
        try folder.write("", to: "assay-file")
        // A link leads elsewhere.
        try folder.write(signature, to: "elsewhere/owner")
        let link = "assay-run-" + UUID().uuidString
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/" + link,
            withDestinationPath: folder.path + "/elsewhere"
        )
        // One with a living owner: the lock of this process, taken by another opening of the file.
        let living = "assay-run-" + UUID().uuidString
        try folder.write(signature, to: living + "/owner")
        let held = open(folder.path + "/\(living)/owner", O_RDWR)
        defer { close(held) }
        #expect(flock(held, LOCK_EX | LOCK_NB) == 0)
        WorkFolder.sweepAbandonedFolders(folder.path)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let stay = ["assay-file", "assay-notes", "assay-run-new", "elsewhere", "other"]
        #expect(names == (stay + [other, living, link]).sorted())
        #expect(FileManager.default.fileExists(atPath: folder.path + "/elsewhere/owner"))
    }
}
