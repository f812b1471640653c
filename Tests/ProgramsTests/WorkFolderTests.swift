import Foundation
import Programs
import TestSupport
import Testing

@Suite("Folders for as long as a process lives")
struct WorkFolderTests {
    @Test func `a folder is there until it is removed`() throws {
        let work = try WorkFolder("test")
        #expect(FileManager.default.fileExists(atPath: work.path))
        #expect(work.path.contains("/assay-test-"))
        work.remove()
        #expect(!FileManager.default.fileExists(atPath: work.path))
        work.remove()
    }

    @Test func `what a killed process left is removed, and what belongs to somebody stays`() throws
    {
        let folder = try TemporaryFolder()
        // Nobody holds its lock.
        try folder.write("", to: "assay-run-left/owner")
        try folder.write("", to: "assay-run-left/data/state")
        // No folder of ours, one that is being made, and a file.
        try folder.write("", to: "other/owner")
        try folder.write("", to: "assay-run-new/new")
        try folder.write("", to: "assay-file")
        // A link leads elsewhere.
        try folder.write("", to: "elsewhere/owner")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/assay-link",
            withDestinationPath: folder.path + "/elsewhere"
        )
        // One with a living owner: the lock of this process, taken by another opening of the file.
        try folder.write("", to: "assay-run-held/owner")
        let held = open(folder.path + "/assay-run-held/owner", O_RDWR)
        defer { close(held) }
        #expect(flock(held, LOCK_EX | LOCK_NB) == 0)
        WorkFolder.sweep(folder.path)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(
            names == [
                "assay-file", "assay-link", "assay-run-held", "assay-run-new", "elsewhere", "other",
            ]
        )
        #expect(FileManager.default.fileExists(atPath: folder.path + "/elsewhere/owner"))
    }
}
