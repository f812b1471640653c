internal import Foundation

/// Finds the files below a folder.
package enum FolderTree {
    /// The maximum number of files and folders below a folder.
    ///
    /// No folder of contracts is that large. A larger one, such as `/`, is probably a mistake, and
    /// reading it takes minutes.
    package static let entryCountMax = 50_000

    /// Returns the paths of the files whose names end with a suffix, relative to the folder.
    ///
    /// - Returns: The paths in no particular order; nil if the folder has more than `entryCountMax`
    ///   entries.
    package static func paths(
        in folder: String,
        withSuffix suffix: String,
        entryCountMax: Int = entryCountMax
    ) -> [String]? {
        // The enumerator does not enter a folder that is itself a symbolic link.
        let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
        let enumerator = FileManager.default.enumerator(atPath: root)
        var paths: [String] = []
        var entryCount = 0
        while let path = enumerator?.nextObject() as? String {
            entryCount += 1
            guard entryCount <= entryCountMax else { return nil }
            if path.hasSuffix(suffix) { paths.append(path) }
        }
        return paths
    }

    /// Returns the error text for a folder that is too large.
    package static func tooLargeText(_ folder: String) -> String {
        "the folder '\(folder)' contains more than \(entryCountMax) files; name the folder that "
            + "contains only your contracts"
    }
}
