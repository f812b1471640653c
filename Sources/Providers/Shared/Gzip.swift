/// An encoder for the gzip format (RFC 1952) that stores blocks uncompressed.
///
/// A client that expects a `.gz` file can read them, and the fake needs no compression.
enum Gzip {
    /// The largest size of an uncompressed block, in bytes (RFC 1951, section 3.2.4).
    private static let blockSizeMax = 65_535

    static func encodeUncompressed(_ bytes: [UInt8]) -> [UInt8] {
        // The gzip header: the method is deflate; flags, time and level are zero; the operating
        // system is unknown.
        var encodedBytes: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
        var remainingBytes = bytes[...]
        repeat {
            let block = remainingBytes.prefix(blockSizeMax)
            remainingBytes = remainingBytes.dropFirst(blockSizeMax)
            let count = UInt16(block.count)
            encodedBytes.append(remainingBytes.isEmpty ? 1 : 0)
            encodedBytes += [UInt8(count & 0xff), UInt8(count >> 8)]
            encodedBytes += [UInt8(~count & 0xff), UInt8(~count >> 8)]
            encodedBytes += block
        } while !remainingBytes.isEmpty
        return encodedBytes + littleEndianBytes(checksum(bytes))
            + littleEndianBytes(UInt32(truncatingIfNeeded: bytes.count))
    }

    private static func littleEndianBytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Returns the CRC-32 of the bytes as RFC 1952, section 8, defines it.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xffff_ffff
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xedb8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
