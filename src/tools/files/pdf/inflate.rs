//! Unpacking of DEFLATE data (RFC 1951) in its zlib wrapping (RFC 1950).
//!
//! For streams of PDF files, which are small. A stream that is cut short or damaged yields what could be unpacked
//! before that: half a page is better than none. The checksum is therefore not looked at.

/// Unpacks `data`, no further than `limit` bytes.
pub fn unpack(data: &[u8], limit: usize) -> Vec<u8> {
    let mut output = Vec::new();
    if data.len() > 2 {
        let mut bits = Bits {
            data: &data[2..],
            buffer: 0,
            count: 0,
        };
        while output.len() < limit {
            match block(&mut bits, &mut output, limit) {
                Some(Last::No) => {}
                Some(Last::Yes) | None => break,
            }
        }
    }
    output.truncate(limit);
    output
}

enum Last {
    Yes,
    No,
}

struct Bits<'a> {
    data: &'a [u8],
    buffer: u32,
    count: u32,
}

/// A Huffman code: how many codes there are of each length, and the symbols in the order of their codes.
struct Code {
    counts: [u16; 16],
    symbols: Vec<u16>,
}

fn block(bits: &mut Bits<'_>, output: &mut Vec<u8>, limit: usize) -> Option<Last> {
    let last = if bits.take(1)? == 1 {
        Last::Yes
    } else {
        Last::No
    };
    match bits.take(2)? {
        0 => stored(bits, output)?,
        1 => {
            let lengths: Vec<u8> = (0..288)
                .map(|symbol| match symbol {
                    144..256 => 9,
                    256..280 => 7,
                    _ => 8,
                })
                .collect();
            compressed(
                bits,
                output,
                &Code::new(&lengths),
                &Code::new(&[5; 30]),
                limit,
            )?;
        }
        2 => {
            let (literals, distances) = dynamic_codes(bits)?;
            compressed(bits, output, &literals, &distances, limit)?;
        }
        _ => return None,
    }
    Some(last)
}

fn stored(bits: &mut Bits<'_>, output: &mut Vec<u8>) -> Option<()> {
    // What is left of the current byte is padding; more than that is never read ahead.
    bits.buffer = 0;
    bits.count = 0;
    let data = bits.data;
    let length = usize::from(u16::from_le_bytes([*data.first()?, *data.get(1)?]));
    let body = data.get(4..)?;
    let available = body.len().min(length);
    output.extend_from_slice(&body[..available]);
    bits.data = &body[available..];
    (available == length).then_some(())
}

fn dynamic_codes(bits: &mut Bits<'_>) -> Option<(Code, Code)> {
    /// The order in which the lengths of the code for lengths come.
    const ORDER: [usize; 19] = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ];
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let given = bits.take(4)? as usize + 4;
    let mut lengths = [0; 19];
    for place in &ORDER[..given] {
        lengths[*place] = u8::try_from(bits.take(3)?).ok()?;
    }
    let code = Code::new(&lengths);
    let mut lengths = Vec::with_capacity(literals + distances);
    while lengths.len() < literals + distances {
        let symbol = code.next(bits)?;
        let (value, times) = match symbol {
            0..16 => (u8::try_from(symbol).ok()?, 1),
            16 => (*lengths.last()?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            _ => (0, 11 + bits.take(7)?),
        };
        lengths.extend(std::iter::repeat_n(value, times as usize));
    }
    let distances = lengths.get(literals..literals + distances)?;
    Some((Code::new(&lengths[..literals]), Code::new(distances)))
}

fn compressed(
    bits: &mut Bits<'_>,
    output: &mut Vec<u8>,
    literals: &Code,
    distances: &Code,
    limit: usize,
) -> Option<()> {
    const LENGTHS: [u16; 29] = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
        131, 163, 195, 227, 258,
    ];
    const LENGTH_BITS: [u32; 29] = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ];
    while output.len() < limit {
        let symbol = usize::from(literals.next(bits)?);
        match symbol {
            0..256 => output.push(u8::try_from(symbol).ok()?),
            256 => return Some(()),
            _ => {
                let extra = bits.take(*LENGTH_BITS.get(symbol - 257)?)?;
                let length = usize::from(LENGTHS[symbol - 257]) + extra as usize;
                let distance = distance(bits, distances)?;
                let start = output.len().checked_sub(distance)?;
                // Byte by byte: a copy may reach into what it has just written.
                for index in start..start + length {
                    output.push(output[index]);
                }
            }
        }
    }
    Some(())
}

fn distance(bits: &mut Bits<'_>, code: &Code) -> Option<usize> {
    let symbol = u32::from(code.next(bits)?);
    match symbol {
        0..4 => Some(symbol as usize + 1),
        // Two symbols for each number of extra bits: the distance doubles with every second one.
        4..30 => {
            let extra = symbol / 2 - 1;
            let base = (2 + symbol % 2) << extra;
            Some((base + bits.take(extra)?) as usize + 1)
        }
        _ => None,
    }
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> Option<u32> {
        while self.count < count {
            let (first, rest) = self.data.split_first()?;
            self.data = rest;
            self.buffer |= u32::from(*first) << self.count;
            self.count += 8;
        }
        let value = self.buffer & ((1 << count) - 1);
        self.buffer >>= count;
        self.count -= count;
        Some(value)
    }
}

impl Code {
    fn new(lengths: &[u8]) -> Self {
        let mut counts = [0; 16];
        for length in lengths {
            counts[usize::from(*length & 15)] += 1;
        }
        counts[0] = 0;
        let mut symbols: Vec<(u8, u16)> = (0..)
            .zip(lengths)
            .filter(|(_, length)| **length > 0)
            .map(|(symbol, length)| (*length, symbol))
            .collect();
        symbols.sort_unstable();
        Self {
            counts,
            symbols: symbols.into_iter().map(|(_, symbol)| symbol).collect(),
        }
    }

    /// Reads a code bit by bit: codes of one length are consecutive numbers, so counting finds the symbol.
    fn next(&self, bits: &mut Bits<'_>) -> Option<u16> {
        let (mut code, mut first, mut index) = (0_u32, 0_u32, 0_u32);
        for count in &self.counts[1..] {
            code |= bits.take(1)?;
            let count = u32::from(*count);
            if code < first + count {
                return self.symbols.get((index + code - first) as usize).copied();
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::unpack;

    proptest::proptest! {
        #[test]
        fn any_bytes_come_to_an_end(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
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
        // Made with Python's zlib at levels 0 and 9; the last one is long enough for codes of its own.
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
}
