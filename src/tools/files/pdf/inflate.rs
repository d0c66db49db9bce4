//! Unpacking of DEFLATE data (RFC 1951) in its zlib wrapping (RFC 1950).
//!
//! For streams of PDF files, which are small. A truncated or damaged stream returns what could be unpacked before the
//! damage: half a page is better than none. So the zlib header is skipped and the checksum not verified, and the
//! crate is called one level below its `decompress_to_vec_with_limit`, which fills the part that it could not unpack
//! with zeros and does not say where they begin.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// The length of the zlib header.
const HEADER: usize = 2;

/// Unpacks `data`, up to `limit` bytes.
pub fn unpack(data: &[u8], limit: usize) -> Vec<u8> {
    let Some(mut data) = data.get(HEADER..).filter(|data| !data.is_empty()) else {
        return Vec::new();
    };
    let mut state = Box::<DecompressorOxide>::default();
    let mut output = vec![0; data.len().saturating_mul(2).min(limit)];
    let mut written = 0;
    loop {
        let (status, read, added) = decompress(
            &mut state,
            data,
            &mut output,
            written,
            TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
        );
        written += added;
        data = data.get(read..).unwrap_or_default();
        if status != TINFLStatus::HasMoreOutput || output.len() >= limit {
            output.truncate(written);
            return output;
        }
        output.resize(output.len().saturating_mul(2).min(limit), 0);
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use miniz_oxide::deflate::compress_to_vec_zlib;

    use super::unpack;

    proptest::proptest! {
        #[test]
        fn unpacking_any_bytes_ends(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            proptest::prop_assert!(unpack(&bytes, 10_000).len() <= 10_000);
        }
    }

    const SQUARES: &str = "\
        eNotldmBxDAIQ1tJCcaAgf4bWz1mfyaeBDCHJM5nX3zz2ftufv6+mO/F1/bZOZ9dPSP0VRYjE9nc1LPn8xuyl7fsIvTs+PLOl/W+\
        J7unZ+l/6X3r+8huHnHlaEcRzBTKiGlXwc25JbguufeRwCOTUkbWQQ7K8B6yMDK+Z77rJ74bx5SZPO7jVLxrvo7sHA9XfJJW5q54\
        Hors3OGl27x1r48yiKNcgqzClV+EMo2nnKOoljLyqJ40CnYq1pcvqTmL0+jdO/oqL1M35fFSvq8U5bXi1UmaI4/SnV+l7q1SBjXK\
        pWl9X+XXwSyecu5W9kMdstBJWaqbqnL67Kxo1rl7jkODnyzUZhmb4Wd2nXPQR3u01Jru3t+knZ7fpP23mMSdHcrOxyN3QEzNhwGG\
        vcUGvsqSczejk59+XY2w7Yllc377/jk2b+0frbTaOBXErI1fw12992ronDefOeQ2m+csOIb8VbNquYe67ikAYj+EOBAx+nBxFlzo\
        z/3B5NK368Z7j8VRYR/rG06coPNCDPGTeQj7+CZTupqu3j9md5W47HeitxKGFHO+qgIgMn1xBt8BE3dSfVCD1ROBs4AovfIznA1U\
        KXvZ+AVrgi1AvSDQ3WCeg0t3hRaUuVcjGs5g2NOBcy6yH/MV5BfvDfRrWVAPQvRyQwTlDGM03rNUOMtt2H1iz633YXCO4UMSfDU5\
        ZOPCz/Cr+Pqvu6QJqwxwWbNRPpEwPLIg2FuGvQfFCjWIyiUZGiEtwbfRjRiF1i9akscg2PYq7XC21RxBAfVBh/QfijralN6KmYFe\
        iaW6K5N7NaGBsuhaCo2yKbRO2oVvizb6TdWSAo5sRqmL09T7Tqp2miqWm6RAND/qz1tcPd+z7/tYm1j7XN/cOI+YlC6b4q6396pr\
        yoER6f2Qm7JEHs4qxSF/pYl+GHXVpcbaesupXWqiPlTQk0r6U8tB4YbzWz0u+llFb2v7XE3PRTvF7MMs+jCXXm1uY159mV1f5tjO\
        THvnK4VCp5K5d4IBpa8au6hXxFXt3WCmG/z0gKVZXM0BY2PgbQzsQQ6J2+q1pB7JC7A6AW4nwfAsnueB7aFs/YL5afAvSuE78EJ2\
        kMSO2a4cq//1s1rpEEsPWCYVgHJ6wD87P+ESzPbfm/1WuZZ912/ZbGegNgLLDXq7a81QAF16f7KLNpg5QiH5RTX0QEJYgESxh7jo\
        MavK9Vai21ev5yfegzrRKmRd2w+Nv7bi/1M0FHz/+ey32AVw09fvbZT70Efp+y4BXcp9t39r4KepflZgEcbgsdLL2kT//5eBr0J7\
        /NZBrnYLinTCf6oucaFL3qv3Piv+Aif9jKWvFsjuiLj7TRTFUtDZVfK/V/K3ZPK3cd7eF7W7KH4LQgMmM+bG2jm7v9K2hvxtNik3\
        9Yl5VCsDapcO+G6o7Uu+3ZPQn2+9G1S3HvsDcTq7bQ==";

    #[test]
    fn blocks_of_every_kind_are_unpacked() {
        // Made with Python's zlib at levels 0 and 9; the last one is long enough for a code table of its own.
        let squares: Vec<String> = (0..400)
            .map(|number| (number * number).to_string())
            .collect();
        for (packed, expected) in [
            (
                "eAEBDADz/3N0b3JlZCBieXRlcx/PBNk=",
                "stored bytes".to_owned(),
            ),
            (
                "eNrLSM3JyVfIQCcBaAMIsQ==",
                "hello hello hello hello".to_owned(),
            ),
            (SQUARES, squares.join(" ")),
        ] {
            let packed = STANDARD.decode(packed).expect("valid Base64");
            assert_eq!(unpack(&packed, 1 << 20), expected.as_bytes());
            assert_eq!(unpack(&packed, 5), &expected.as_bytes()[..5]);
            for length in 0..packed.len() {
                assert!(
                    expected
                        .as_bytes()
                        .starts_with(&unpack(&packed[..length], 1 << 20))
                );
            }
        }
    }

    #[test]
    fn the_start_of_a_truncated_or_damaged_stream_is_kept() {
        let packed = STANDARD.decode(SQUARES).expect("valid Base64");
        let whole = unpack(&packed, 1 << 20);
        let half = unpack(&packed[..packed.len() / 2], 1 << 20);
        assert!(half.len() > whole.len() / 3 && whole.starts_with(&half));

        // A second block of an invalid kind.
        let damaged = [0x78, 0x01, 0, 4, 0, 0xfb, 0xff, b'h', b'a', b'l', b'f', 7];
        assert_eq!(unpack(&damaged, 1 << 20), b"half");
    }

    #[test]
    fn a_decompression_bomb_stops_at_the_limit() {
        let packed = compress_to_vec_zlib(&vec![0; 5_000_000], 9);
        assert!(packed.len() < 10_000);
        assert_eq!(unpack(&packed, 100_000), vec![0; 100_000]);
        assert_eq!(unpack(&packed, 10_000_000).len(), 5_000_000);
    }
}
