//! One row a sample, as Parquet: the columns of [`samples()`](crate::samples()), numbers as such.

use crate::{Error, samples};
use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;
use tare_record::{Cell, Document};

/// One row, and its fields as text.
struct Row<'a> {
    cell: &'a Cell,
    block: u32,
    value: f64,
    fields: &'a [String],
}

/// What a column holds.
enum Column {
    Text,
    Count(fn(&Row<'_>) -> i64),
    Figure(fn(&Row<'_>) -> f64),
}

impl Column {
    fn of(name: &str) -> Self {
        match name {
            "nodes" => Self::Count(|row| row.cell.shape.nodes.into()),
            "servers" => Self::Count(|row| row.cell.shape.servers.into()),
            "clients" => Self::Count(|row| row.cell.shape.clients.into()),
            "processes" => Self::Count(|row| row.cell.shape.processes.into()),
            "flows" => Self::Count(|row| row.cell.shape.flows.into()),
            "mtu" => Self::Count(|row| row.cell.shape.mtu.into()),
            "block" => Self::Count(|row| row.block.into()),
            "value" => Self::Figure(|row| row.value),
            _ => Self::Text,
        }
    }

    /// How the format names it. No field is ever missing.
    fn described(&self, name: &str) -> Result<TypePtr, Error> {
        let (physical, logical) = match self {
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Count(_) => (Physical::INT64, None),
            Self::Figure(_) => (Physical::DOUBLE, None),
        };
        let described = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical);
        Ok(Arc::new(described.build()?))
    }

    /// Writes the column at this place of all rows.
    fn write(
        &self,
        at: usize,
        rows: &[Row<'_>],
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), Error> {
        match self {
            Self::Text => {
                let text = |row: &Row<'_>| ByteArray::from(row.fields[at].as_bytes().to_vec());
                let all: Vec<ByteArray> = rows.iter().map(text).collect();
                writer.typed::<ByteArrayType>().write_batch(&all, None, None)?;
            }
            Self::Count(count) => {
                let all: Vec<i64> = rows.iter().map(count).collect();
                writer.typed::<Int64Type>().write_batch(&all, None, None)?;
            }
            Self::Figure(figure) => {
                let all: Vec<f64> = rows.iter().map(figure).collect();
                writer.typed::<DoubleType>().write_batch(&all, None, None)?;
            }
        }
        Ok(())
    }
}

/// Every sample of every cell as a row of its own, in one Parquet file. Parameters are JSON. A figure that is withheld has
/// no rows.
///
/// # Errors
/// When a cell's parameters cannot be written as JSON.
pub fn parquet(document: &Document) -> Result<Vec<u8>, Error> {
    let columns: Vec<(&str, Column)> =
        samples::columns().map(|name| (name, Column::of(name))).collect();
    let fields: Vec<Vec<String>> =
        document.cells.iter().map(samples::what).collect::<Result<_, _>>()?;
    let rows: Vec<Row<'_>> = rows(document, &fields);
    let described: Vec<TypePtr> =
        columns.iter().map(|(name, column)| column.described(name)).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("samples").with_fields(described).build()?;
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default())?;
    let mut group = writer.next_row_group()?;
    for (at, (_, column)) in columns.iter().enumerate() {
        let Some(mut writer) = group.next_column()? else { break };
        column.write(at, &rows, &mut writer)?;
        writer.close()?;
    }
    group.close()?;
    Ok(writer.into_inner()?)
}

fn rows<'a>(document: &'a Document, fields: &'a [Vec<String>]) -> Vec<Row<'a>> {
    let of_cell = |(cell, fields): (&'a Cell, &'a Vec<String>)| {
        let samples = cell.blocks.iter().zip(&cell.samples);
        samples.map(move |(&block, &value)| Row { cell, block, value, fields })
    };
    document.cells.iter().zip(fields).flat_map(of_cell).collect()
}
