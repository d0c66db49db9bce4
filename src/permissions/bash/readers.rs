//! The commands that only read and print, with their permitted flags.

use super::everyday::everyday_reader;
use super::flags::Flags;
use super::lists::Lists;

/// A command that reads, whatever permitted flags and operands it is given.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    pub flags: Flags,
    pub operands: Operands,
    pub globs: Globs,
}

/// What the operands of a command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    None,
    Data,
    Paths,
    /// A second one would be written.
    OnePath,
    /// The first is a pattern, unless a flag gives it.
    PatternThenPaths,
}

/// Whether an unquoted glob, which may expand to a flag, is harmless: it is where every flag of the program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Globs {
    Harmless,
    Refused,
}

pub(super) const fn reader(flags: Flags, operands: Operands) -> Reader {
    Reader {
        flags,
        operands,
        globs: Globs::Harmless,
    }
}

/// For programs with a flag that writes or runs something.
pub(super) const fn strict(flags: Flags, operands: Operands) -> Reader {
    Reader {
        flags,
        operands,
        globs: Globs::Refused,
    }
}

/// The reader of this name. Commands with a grammar of their own (find, sed, git, jq, ps, xxd, test) are not here.
pub fn reader_named(name: &str, lists: Lists) -> Option<Reader> {
    agreed_reader(name).or_else(|| match lists {
        Lists::Agreed => None,
        Lists::Everyday => everyday_reader(name),
    })
}

#[expect(clippy::too_many_lines, reason = "it is one table")]
fn agreed_reader(name: &str) -> Option<Reader> {
    use Operands::{Data, None, OnePath, Paths, PatternThenPaths};
    Some(match name {
        "ls" => reader(
            Flags::new(
                "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
                "all almost-all author escape block-size= ignore-backups color? directory dired classify? file-type \
                 format= full-time group-directories-first no-group human-readable si dereference-command-line \
                 dereference-command-line-symlink-to-dir hide= hyperlink? indicator-style= inode ignore= kibibytes \
                 dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= \
                 reverse recursive size sort= time= time-style= tabsize= width= context zero help version",
            ),
            Paths,
        ),
        "cat" => reader(
            Flags::new(
                "AbeEnstTuv",
                "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version",
            ),
            Paths,
        ),
        // tail without -f and its kin: the call has to end.
        "head" | "tail" => reader(
            Flags::with_numbers(
                "c:n:qvz",
                "bytes= lines= quiet silent verbose zero-terminated help version",
            ),
            Paths,
        ),
        "wc" => reader(
            Flags::new(
                "cmlLw",
                "bytes chars lines max-line-length words total= help version",
            ),
            Paths,
        ),
        "nl" => reader(
            Flags::new(
                "b:d:f:h:i:l:n:ps:v:w:",
                "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= \
                 join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width= help \
                 version",
            ),
            Paths,
        ),
        "tac" => reader(
            Flags::new("brs:", "before regex separator= help version"),
            Paths,
        ),
        "rev" => reader(Flags::new("hV", "help version"), Paths),
        "stat" => reader(
            Flags::new(
                "Lfc:t",
                "dereference file-system cached= format= printf= terse help version",
            ),
            Paths,
        ),
        "file" => strict(
            Flags::new(
                "bE0F:e:hikLnNrv",
                "brief mime mime-type mime-encoding extension keep-going dereference no-dereference no-buffer no-pad raw \
                 print0 separator= exclude= apple help version",
            ),
            Paths,
        ),
        "du" => reader(
            Flags::new(
                "0aB:bcDd:HhklLmPSst:xX/",
                "null all apparent-size block-size= bytes total dereference-args max-depth= human-readable inodes \
                 count-links dereference no-dereference separate-dirs si summarize threshold= time? time-style= \
                 one-file-system exclude= exclude-from/ help version",
            ),
            Paths,
        ),
        "df" => reader(
            Flags::new(
                "aB:hHiklPTt:vx:",
                "all block-size= human-readable si inodes local no-sync output? portability total type= print-type \
                 exclude-type= help version",
            ),
            Paths,
        ),
        "pwd" => strict(Flags::new("LP", ""), None),
        "basename" => reader(
            Flags::new("as:z", "multiple suffix= zero help version"),
            Data,
        ),
        "dirname" => reader(Flags::new("z", "zero help version"), Data),
        "realpath" => reader(
            Flags::new(
                "eEmLPqsz",
                "canonicalize canonicalize-existing canonicalize-missing logical physical quiet relative-to/ \
                 relative-base/ strip no-symlinks zero help version",
            ),
            Paths,
        ),
        "readlink" => reader(
            Flags::new(
                "femnqsvz",
                "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help \
                 version",
            ),
            Paths,
        ),
        "which" => reader(Flags::new("as", "all"), Data),
        "type" => reader(Flags::new("afptP", ""), Data),
        "whoami" => strict(Flags::new("", "help version"), None),
        "id" => reader(
            Flags::new(
                "agGnruzZ",
                "context group groups name real user zero help version",
            ),
            Data,
        ),
        "uname" => strict(
            Flags::new(
                "asnrvmpio",
                "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform \
                 operating-system help version",
            ),
            None,
        ),
        "uptime" => strict(Flags::new("psh", "pretty since help version"), None),
        "nproc" => strict(Flags::new("", "all ignore= help version"), None),
        // Its flags ask the network, its operand sets the name.
        "hostname" => strict(Flags::NONE, None),
        "true" | "false" => reader(Flags::NONE, Data),
        "grep" | "egrep" | "fgrep" => reader(
            Flags::with_numbers(
                "A:abB:C:cd:D:Ee:Ff/GHhIiLlm:noPqRrsTUuvVwxyZz",
                "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file/ ignore-case no-ignore-case \
                 invert-match word-regexp line-regexp count color? colour? files-without-match files-with-matches \
                 max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename label= \
                 line-number initial-tab null after-context= before-context= context= group-separator= \
                 no-group-separator text binary-files= devices= directories= exclude= exclude-from/ exclude-dir= include= \
                 recursive dereference-recursive line-buffered binary null-data unix-byte-offsets help version",
            ),
            PatternThenPaths,
        ),
        "rg" => strict(
            Flags::new(
                "0A:aB:bC:cd:E:e:Ff/g:HhIij:LlM:m:NnoPpqr:SsT:t:UuVvwx.",
                "after-context= auto-hybrid-regex before-context= binary block-buffered byte-offset case-sensitive color= \
                 colors= column context= context-separator= count count-matches crlf dfa-size-limit= encoding= engine= \
                 field-context-separator= field-match-separator= file/ files files-with-matches files-without-match \
                 fixed-strings follow glob= glob-case-insensitive heading hidden iglob= ignore-case ignore-file/ \
                 ignore-file-case-insensitive include-zero invert-match json line-buffered line-number line-regexp \
                 max-columns= max-columns-preview max-count= max-depth= maxdepth= max-filesize= mmap multiline \
                 multiline-dotall no-binary no-block-buffered no-column no-config no-context-separator no-crlf \
                 no-encoding no-filename no-fixed-strings no-follow no-glob-case-insensitive no-heading no-hidden \
                 no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages \
                 no-ignore-parent no-ignore-vcs no-invert-match no-json no-line-buffered no-line-number \
                 no-max-columns-preview no-messages no-mmap no-multiline no-one-file-system no-pcre2 no-require-git \
                 no-search-zip no-sort-files no-stats no-text no-trim no-unicode null null-data one-file-system \
                 only-matching passthru path-separator= pcre2 pcre2-version pretty quiet regex-size-limit= regexp= \
                 replace= require-git smart-case sort= sortr= stats stop-on-nonmatch text threads= trim type= type-add= \
                 type-clear= type-list type-not= unicode unrestricted version vimgrep with-filename word-regexp help",
            ),
            PatternThenPaths,
        ),
        // Without -l: it starts `pr`.
        "diff" => strict(
            Flags::new(
                "qscC:uU:enyW:pF:tTrNx:X/iEZbwBI:aD:dL:",
                "normal brief report-identical-files context? unified? ed rcs side-by-side width= left-column \
                 suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= \
                 suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case \
                 no-ignore-file-name-case exclude= exclude-from/ starting-file= from-file/ to-file/ ignore-case \
                 ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines \
                 ignore-matching-lines= text strip-trailing-cr ifdef= minimal horizon-lines= speed-large-files color? \
                 help version",
            ),
            Paths,
        ),
        "cmp" => reader(
            Flags::new(
                "bi:ln:s",
                "print-bytes ignore-initial= verbose bytes= quiet silent help version",
            ),
            Paths,
        ),
        "comm" => reader(
            Flags::new(
                "123z",
                "check-order nocheck-order output-delimiter= total zero-terminated help version",
            ),
            Paths,
        ),
        "sort" => strict(
            Flags::new(
                "bcCdfghik:mMnrRsS:t:uVz",
                "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort \
                 human-numeric-sort numeric-sort random-sort reverse sort= version-sort batch-size= check? key= merge \
                 stable buffer-size= field-separator= parallel= unique zero-terminated debug help version",
            ),
            Paths,
        ),
        "uniq" => strict(
            Flags::new(
                "cdDf:is:uw:z",
                "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated \
                 check-chars= help version",
            ),
            OnePath,
        ),
        "cut" => reader(
            Flags::new(
                "b:c:d:f:nsz",
                "bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated help \
                 version",
            ),
            Paths,
        ),
        "tr" => reader(
            Flags::new(
                "cCdst",
                "complement delete squeeze-repeats truncate-set1 help version",
            ),
            Data,
        ),
        "paste" => reader(
            Flags::new("d:sz", "delimiters= serial zero-terminated help version"),
            Paths,
        ),
        "column" => reader(
            Flags::new(
                "c:eE:H:JLl:n:N:o:O:r:R:s:tT:W:xdm",
                "columns= table separator= output-separator= table-columns= table-right= table-noextreme= table-wrap= \
                 table-hide= table-order= table-name= table-truncate= table-noheadings table-empty-lines \
                 table-columns-limit= json output-width= fillrows keep-empty-lines help version",
            ),
            Paths,
        ),
        "fold" => reader(
            Flags::with_numbers("bsw:", "bytes spaces width= help version"),
            Paths,
        ),
        "od" => reader(
            Flags::new(
                "A:j:N:S:t:vw?abcdfhilosx",
                "address-radix= endian= skip-bytes= read-bytes= strings? format= output-duplicates width? traditional \
                 help version",
            ),
            Paths,
        ),
        // Without -f: what a file says about widths is not known.
        "hexdump" => reader(
            Flags::new(
                "bcCde:n:os:vx",
                "one-byte-octal one-byte-char canonical two-bytes-decimal two-bytes-octal two-bytes-hex format= \
                 length= skip= no-squeezing help version",
            ),
            Paths,
        ),
        "strings" => reader(
            Flags::with_numbers(
                "adfn:t:e:os:wU:",
                "all data print-file-name bytes= radix= encoding= output-separator= include-all-whitespace unicode= help \
                 version",
            ),
            Paths,
        ),
        // Without -c: it opens whatever a list names.
        "md5sum" | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum" => reader(
            Flags::new("btz", "binary tag text zero help version"),
            Paths,
        ),
        // Without -o and -R, which writes 00Tree.html.
        "tree" => strict(
            Flags::new(
                "adflxL;P;I;qNQpugshDFvtcUrnCAiSJX",
                "dirsfirst filesfirst filelimit= noreport prune du si inodes device timefmt= sort? gitignore ignore-case \
                 matchdirs charset= metafirst info fflinks help version",
            ),
            Paths,
        ),
        // -I with an attached format; +FORMAT is checked by the caller.
        "date" => strict(
            Flags::new("uRI?", "utc universal rfc-email iso-8601?"),
            Data,
        ),
        "seq" => strict(
            Flags::with_numbers("f:s:w", "format= separator= equal-width help version"),
            Data,
        ),
        _ => return Option::None,
    })
}
