//! Text in pictures: DejaVu Sans, with raised and lowered figures made from the ordinary ones.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, Glyph, PxScale, ScaleFont, point};

static REGULAR: LazyLock<Option<FontRef<'static>>> =
    LazyLock::new(|| FontRef::try_from_slice(include_bytes!("../../assets/fonts/DejaVuSans.ttf")).ok());
static BOLD: LazyLock<Option<FontRef<'static>>> =
    LazyLock::new(|| FontRef::try_from_slice(include_bytes!("../../assets/fonts/DejaVuSans-Bold.ttf")).ok());

fn font(bold: bool) -> Option<&'static FontRef<'static>> {
    if bold { BOLD.as_ref() } else { REGULAR.as_ref() }
}

/// The character drawn, its size relative to the text's, and how far it is raised (in ems).
fn shape(c: char) -> (char, f32, f32) {
    const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺";
    const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉₋₊";
    const PLAIN: &str = "0123456789−+";
    let plain = |list: &str| {
        list.chars()
            .position(|k| k == c)
            .and_then(|k| PLAIN.chars().nth(k))
    };
    if let Some(raised) = plain(RAISED) {
        (raised, 0.68, 0.33)
    } else if let Some(lowered) = plain(LOWERED) {
        (lowered, 0.68, -0.14)
    } else {
        match c {
            '⟨' => ('‹', 1.0, 0.0),
            '⟩' => ('›', 1.0, 0.0),
            c if c.is_control() => (' ', 1.0, 0.0),
            c => (c, 1.0, 0.0),
        }
    }
}

/// The glyphs of a text that starts at (0, 0) on the baseline, and its width.
fn set(text: &str, size: f64, bold: bool) -> (Vec<Glyph>, f64) {
    let Some(font) = font(bold) else {
        return (Vec::new(), 0.0);
    };
    // ab_glyph's scale is the height from ascent to descent; `size` is that of the em.
    let em = font.units_per_em().unwrap_or(1000.0);
    let unit = size as f32 * font.height_unscaled() / em;
    let mut x = 0.0_f32;
    let mut before = None;
    let mut glyphs = Vec::new();
    for c in text.chars() {
        let (c, share, raised) = shape(c);
        let scaled = font.as_scaled(PxScale::from(unit * share));
        let id = scaled.glyph_id(c);
        if let Some((last, last_share)) = before
            && last_share == share
        {
            x += scaled.kern(last, id);
        }
        glyphs.push(id.with_scale_and_position(PxScale::from(unit * share), point(x, -raised * size as f32)));
        x += scaled.h_advance(id);
        before = Some((id, share));
    }
    (glyphs, f64::from(x))
}

/// Width of a text.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    set(text, size, bold).1
}

/// Calls `put(x, y, coverage)` for each pixel of a text whose baseline starts at (0, 0); y downwards.
pub(crate) fn draw(text: &str, size: f64, bold: bool, offset: [f32; 2], mut put: impl FnMut(i32, i32, f32)) {
    let Some(font) = font(bold) else { return };
    for mut glyph in set(text, size, bold).0 {
        glyph.position.x += offset[0];
        glyph.position.y += offset[1];
        if let Some(outline) = font.outline_glyph(glyph) {
            let corner = outline.px_bounds().min;
            outline
                .draw(|x, y, coverage| put(corner.x as i32 + x as i32, corner.y as i32 + y as i32, coverage));
        }
    }
}
