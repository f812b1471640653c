internal import Foundation

// Writes a Swift file that contains the given text files, so that they are part of the binary.
// Arguments: the output file, the root folder, and the files.
let arguments = CommandLine.arguments
let output = URL(fileURLWithPath: arguments[1])
let root = URL(fileURLWithPath: arguments[2]).path + "/"
var text = """
    /// The files of the folder `contracts`, embedded at build time: their paths in the folder, and
    /// their contents.
    enum EmbeddedContracts {
        static let files: [(path: String, text: String)] = [

    """
for path in arguments.dropFirst(3).sorted() {
    let contents = try String(contentsOf: URL(fileURLWithPath: path), encoding: .utf8)
    let name = path.hasPrefix(root) ? String(path.dropFirst(root.count)) : path
    text += "        (\"\(name)\", ####\"\"\"\n\(contents)\n\"\"\"####),\n"
}
text += "    ]\n}\n"
try text.write(to: output, atomically: true, encoding: .utf8)
