//! Markdown page of the documentation: its code, by the way in which it is marked.
//!
//! A block of the language `sh` is a script. In a block of the language `console`, lines after `$ ` are commands, and the
//! others are their output. Code in prose is a command if its first words are those of a program of this project.

/// Code of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Code {
    /// Number of its first line.
    pub(super) line: usize,
    /// Its text, without marks.
    pub(super) text: String,
}

/// Block of code between fences, or one that is indented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Language after the opening fence. An indented block has none.
    language: String,
    pub(super) code: Code,
}

impl Block {
    /// Returns the script that a block is or shows.
    pub(super) fn script(&self) -> Option<Code> {
        let text = match self.language.as_str() {
            "sh" => self.code.text.clone(),
            "console" => self.code.text.lines().filter_map(after_prompt).collect(),
            _ => return None,
        };
        Some(Code { line: self.code.line, text })
    }

    /// Returns true for a block that nothing marks as other than text.
    pub(super) fn is_unmarked(&self) -> bool {
        self.language.is_empty()
    }
}

/// Returns the command after a prompt, as a line.
fn after_prompt(line: &str) -> Option<String> {
    line.trim_start().strip_prefix("$ ").map(|command| format!("{command}\n"))
}

/// Page, divided into blocks of code and prose.
pub(super) struct Page {
    pub(super) blocks: Vec<Block>,
    /// Paragraphs, with the numbers of their first lines.
    paragraphs: Vec<Code>,
}

impl Page {
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self { blocks: Vec::new(), paragraphs: Vec::new() };
        let mut fence: Option<Block> = None;
        for (line, text) in (1..).zip(text.lines()) {
            if let Some(language) = text.trim_start().strip_prefix("```") {
                let opened = Block {
                    language: language.to_owned(),
                    code: Code { line: line + 1, text: String::new() },
                };
                match fence.take() {
                    Some(block) => page.blocks.push(block),
                    None => fence = Some(opened),
                }
                page.paragraphs.push(Code { line: line + 1, text: String::new() });
            } else if let Some(block) = &mut fence {
                add(&mut block.code, text);
            } else {
                page.add_prose(line, text);
            }
        }
        page
    }

    /// Adds a line outside of fences: to a paragraph, or as a block of its own if it is indented code.
    fn add_prose(&mut self, line: usize, text: &str) {
        if text.trim().is_empty() {
            self.paragraphs.push(Code { line: line + 1, text: String::new() });
            return;
        }
        if text.starts_with("    ") {
            let code = Code { line, text: text.trim().to_owned() };
            self.blocks.push(Block { language: String::new(), code });
        }
        match self.paragraphs.last_mut() {
            Some(paragraph) => add(paragraph, text),
            None => self.paragraphs.push(Code { line, text: format!("{text}\n") }),
        }
    }

    /// Returns the code in prose, each piece on one line, with the number of its paragraph's first line.
    pub(super) fn code_in_prose(&self) -> Vec<Code> {
        let spans = |paragraph: &Code| {
            // An escaped backquote is a character like others.
            let text = paragraph.text.replace("\\`", "'");
            let pieces: Vec<&str> = text.split('`').collect();
            let line = paragraph.line;
            let code = |piece: &&str| Code {
                line,
                text: piece.split_whitespace().collect::<Vec<_>>().join(" "),
            };
            pieces.iter().skip(1).step_by(2).map(code).collect::<Vec<Code>>()
        };
        self.paragraphs.iter().flat_map(spans).collect()
    }
}

fn add(code: &mut Code, line: &str) {
    code.text.push_str(line);
    code.text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A\n\nSee `tare\nrun` and `x`.\n\n```sh\ntare list \\\n  networks\n```\n\n    tare run\n\n\
                        1. Then:\n   ```console\n   $ tare doctor\n   ok\n   ```\n\n```\n$ tare show x\n```\n";

    #[test]
    fn scripts_are_the_marked_blocks() {
        let page = Page::parse(TEXT);
        let scripts: Vec<(usize, String)> = page
            .blocks
            .iter()
            .filter_map(Block::script)
            .map(|code| (code.line, code.text))
            .collect();
        let expected = [(7, "tare list \\\n  networks\n"), (15, "tare doctor\n")];
        assert_eq!(scripts, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn indented_code_and_a_fence_without_a_language_are_unmarked() {
        let page = Page::parse(TEXT);
        let unmarked: Vec<&str> = page
            .blocks
            .iter()
            .filter(|block| block.is_unmarked())
            .map(|block| block.code.text.trim_end())
            .collect();
        assert_eq!(unmarked, ["tare run", "$ tare show x"]);
    }

    #[test]
    fn code_in_prose_may_pass_over_the_end_of_a_line() {
        let code = |text| -> Vec<(usize, String)> {
            let code = Page::parse(text).code_in_prose();
            code.into_iter().map(|code| (code.line, code.text)).collect()
        };
        let expected = [(3, "tare run"), (3, "x")].map(|(line, text)| (line, text.to_owned()));
        assert_eq!(code(TEXT), expected);
        assert_eq!(code("\\`tare run\\` and `a`"), [(1, "a".to_owned())]);
    }
}
