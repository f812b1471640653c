extension Sequence<UInt8> {
    /// The bytes as a string with two lowercase hexadecimal digits for each byte.
    var hex: String {
        let hexDigits = Array("0123456789abcdef".utf8)
        return String(
            decoding: flatMap { [hexDigits[Int($0 >> 4)], hexDigits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }
}
